"""Hostile schemas open no socket and read no file, in Python or below it.

The audit hook sees what Python does; a listener of our own sees what a library below it would do.
"""

from pathlib import Path

from tests.bait import output_beside_bait

SCRIPT = """
import json, sys
from toolplan import Toolbox, compile_plan
from toolplan.schema import Schema, SchemaError, assignable, at

port, canary = sys.argv[1], sys.argv[2]
compile_plan('{"toolplan": 1, "steps": [{"id": "a", "tool": "t"}]}', tools=Toolbox.from_json([
    {"name": "t", "input_schema": {"type": "object", "properties": {"x": {"format": "date"}}}}]))
seen = []
sys.addaudithook(lambda name, args: seen.append((name, str(args)[:80])) if name in (
    "open", "socket.connect", "socket.getaddrinfo", "socket.__new__", "subprocess.Popen",
    "os.listdir", "os.scandir", "import") else None)
targets = [f"http://127.0.0.1:{port}/s.json", f"https://127.0.0.1:{port}/s", f"file://{canary}",
           canary, "../" * 9 + canary.lstrip("/"), f"//127.0.0.1:{port}/x", "urn:x:y", "s.json#/a",
           "http://[::1]/x", "data:,{}"]
shapes = [
    lambda r: {"$ref": r}, lambda r: {"properties": {"x": {"$ref": r}}}, lambda r: {"$id": r},
    lambda r: {"$schema": r}, lambda r: {"allOf": [{"$ref": r}]}, lambda r: {"items": {"$ref": r}},
    lambda r: {"$dynamicRef": r}, lambda r: {"$recursiveRef": r},
    lambda r: {"$id": r, "$ref": "#/$defs/a", "$defs": {"a": {}}},
    lambda r: {"$defs": {"a": {"$id": r}}, "$ref": "#/$defs/a"},
    lambda r: {"propertyNames": {"$ref": r}}, lambda r: {"if": {"$ref": r}},
    lambda r: {"dependentSchemas": {"x": {"$ref": r}}}, lambda r: {"not": {"$ref": r}},
    lambda r: {"$vocabulary": {r: True}, "type": "object"}, lambda r: {"contains": {"$ref": r}},
    lambda r: {"prefixItems": [{"$ref": r}]}, lambda r: {"patternProperties": {"a": {"$ref": r}}},
    lambda r: {"contentSchema": {"$ref": r}}, lambda r: {"unevaluatedItems": {"$ref": r}},
]
count = 0
for shape in shapes:
    for target in targets:
        count += 1
        raw = shape(target)
        tools = Toolbox.from_json([
            {"name": "t", "input_schema": raw, "output_schema": raw},
            {"name": "u", "input_schema": {"properties": {"x": raw}},
             "output_schema": {"items": raw}}])
        plan = {"toolplan": 1, "steps": [
            {"id": "a", "tool": "t", "args": {"x": {"y": 1}}},
            {"id": "b", "tool": "u", "args": {"x": "${a.x.y}"}},
            {"id": "c", "tool": "u", "args": {"x": "${b[*].q}"},
             "when": {"value": "${a}", "is": raw}}]}
        compile_plan(json.dumps(plan), tools=tools)
        try:
            schema = Schema.load(raw)
        except SchemaError:
            continue
        at(schema, ("x",)); assignable(schema, Schema.load({"type": "string"}))
        schema.is_valid({"x": [1]})
assert count == 200, count
assert not seen, seen[:5]
print(count)
"""


def test_two_hundred_hostile_schemas_touch_nothing(tmp_path: Path) -> None:
    """S05, S06."""
    assert output_beside_bait(SCRIPT, tmp_path).strip() == "200"
