"""Tools and a policy of somebody who answers mails, for the tests of flows."""

from toolplan.compiler import compile_plan, flows_of
from toolplan.plan.canonical import load
from toolplan.plan.path import Json
from toolplan.policy import Flow, Policy, parse_policy
from toolplan.schema.tool import Toolbox
from toolplan_sql import sql_tool

TEXT: Json = {"type": "string"}


def rows(**columns: Json) -> Json:
    """Return the schema of a list of objects."""
    return {
        "type": "array",
        "items": {"type": "object", "properties": columns, "additionalProperties": False},
    }


def arguments(*names: str) -> Json:
    """Return the schema of text arguments."""
    properties: dict[str, Json] = dict.fromkeys(names, TEXT)
    return {"type": "object", "properties": properties}


READ: Json = {"effects": "read"}
WRITE: Json = {"effects": "write"}
OBJECTS: list[Json] = [
    {
        "name": "inbox",
        "input_schema": arguments(),
        "output_schema": rows(id=TEXT, sender=TEXT, text=TEXT),
        "annotations": READ,
    },
    {
        "name": "contacts",
        "input_schema": arguments("name"),
        "output_schema": rows(name=TEXT, email=TEXT),
        "annotations": READ,
    },
    {
        "name": "accounts",
        "input_schema": arguments(),
        "output_schema": rows(iban=TEXT, due=TEXT, note=TEXT),
        "annotations": READ,
    },
    {
        "name": "vault",
        "input_schema": arguments(),
        "output_schema": {"type": "object", "properties": {"pin": TEXT}},
        "annotations": READ,
    },
    {"name": "fetch", "input_schema": arguments("url"), "annotations": READ},
    {"name": "send", "input_schema": arguments("to", "body"), "annotations": WRITE},
    {"name": "delete", "input_schema": arguments("id"), "annotations": WRITE},
]
TOOLS = Toolbox.from_json(OBJECTS).with_tools(sql_tool())
POLICY = parse_policy(
    """
[trusted]
outputs = ["contacts", "accounts[*].iban", "accounts[*].due"]

[listed]
outputs = ["inbox[*].id"]

[secret]
outputs = ["vault"]

[sinks.send]
to = { needs = "trusted", else = "refuse" }
body = "plain"

[sinks.delete]
id = "listed"

[decide]
delete = "trusted"
send = "any"

[egress]
tools = ["fetch", "send"]
""",
    "mails.toml",
)


def step(name: str, tool: str, /, **args: Json) -> dict[str, Json]:
    """Return a step; `when`, `for_each` and `after` are its own, the rest its arguments."""
    own = {key: args.pop(key) for key in ("when", "for_each", "after") if key in args}
    return {"id": name, "tool": tool, "args": args, **own}


def flows(*steps: Json, policy: Policy = POLICY) -> list[Flow]:
    """Return the flows of a plan."""
    parsed = load({"toolplan": 1, "steps": list(steps)})
    assert parsed.plan is not None, parsed.diagnostics
    return list(flows_of(parsed.plan, TOOLS, policy))


def verdicts(*steps: Json, policy: Policy = POLICY) -> dict[str, str]:
    """Return the verdict of each flow by kind and pointer; arguments by pointer alone."""
    return {
        each.pointer if each.kind == "argument" else f"{each.kind} {each.pointer}": each.verdict
        for each in flows(*steps, policy=policy)
    }


def codes(*steps: Json, policy: Policy = POLICY) -> set[str]:
    """Return the codes that are said of a plan."""
    plan: dict[str, object] = {"toolplan": 1, "steps": list(steps)}
    return {each.code for each in compile_plan(plan, tools=TOOLS, policy=policy).diagnostics}
