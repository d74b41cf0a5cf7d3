"""What `--tools` takes: which source opens it, and what is wrong with it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.named_tools import load_tools
from toolplan.schema.tool import Toolbox, ToolObjectError
from toolplan.tools import SourceContext
from toolplan.tools.mcp import read_servers
from toolplan.tools.named import SOURCES, source_of
from toolplan.tools.pins import Pins

TOOLS = [{"name": "look", "description": "Look.", "input_schema": {"type": "object"}}]
MODULE = """
from toolplan.schema.tool import Tool, Toolbox

LOOK = Tool("look", "Look.", {"type": "object"})
BOX = Toolbox([LOOK])
MANY = (LOOK, Tool("see", "See.", {"type": "object"}))
TWICE = [LOOK, LOOK]
MIXED = [LOOK, 3]


def send(to: str) -> str:
    return to


PLAIN = [LOOK, send]
MANY_PLAIN = (send,) * 7
NUMBER = 3
calls = 0


def made():
    global calls
    calls += 1
    return [LOOK]


def picky(n):
    return [LOOK]


def broken():
    raise RuntimeError("no database")


async def later():
    return [LOOK]


class Shelf:
    tools = [LOOK]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    path = list(sys.path)
    modules = set(sys.modules)
    (tmp_path / "shelf_of_tools.py").write_text(MODULE)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def write(folder: Path, text: str | bytes) -> str:
    (folder / "tools.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    return "tools.json"


@pytest.mark.parametrize(
    "text", [json.dumps(TOOLS), json.dumps({"tools": TOOLS}), "\ufeff" + json.dumps(TOOLS)]
)
def test_a_file_of_tool_objects_is_read(folder: Path, text: str) -> None:
    assert list(load_tools(write(folder, text), folder)) == ["look"]
    assert list(load_tools(str(folder / "tools.json"))) == ["look"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[{", "not JSON"),
        ("", "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        ("[" * 100_000, "nested too deeply"),
        ("3", "list of tool objects"),
        ("[3]", "must be an object"),
        ('[{"description": "x"}]', "no 'name'"),
        (json.dumps(TOOLS * 2), "Two tools are named 'look'"),
        (json.dumps({"tools": TOOLS, "nextCursor": "2"}), "one page of a list"),
        ('[{"name": "a", "description": 5}]', "'description' of the tool 'a' is no text"),
        ('[{"name": "a", "annotations": []}]', "'annotations' of the tool 'a' are no object"),
        ("1" * 5_000, "not JSON"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(
    folder: Path, text: str | bytes, expected: str
) -> None:
    with pytest.raises(ToolObjectError, match=expected) as caught:
        load_tools(write(folder, text), folder)
    assert "tools.json" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spelling", ["input_schema", "inputSchema", "parameters"])
def test_arguments_are_read_however_their_schema_is_called(folder: Path, spelling: str) -> None:
    schema = {"type": "object", "properties": {"place": {"type": "string"}}}
    listed = {"tools": [{"name": "look", spelling: schema}], "nextCursor": None}
    assert load_tools(write(folder, json.dumps(listed)), folder)["look"].raw_input == schema


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("absent.json", "There is no file"),
        ("deep/absent", "There is no file"),
        (".", "folder"),
        ("word", "neither a file nor .* A whole module is named as 'word:\\*'"),
        ("my.word", "There is no file .* A whole module is named as 'my.word:\\*'"),
        ("", "empty"),
        ("a b:c", "neither a file nor"),
        ("no_such_shelf:X", "There is no module 'no_such_shelf'"),
        ("shelf_of_tools.inner:X", "There is no module 'shelf_of_tools.inner'"),
        ("shelf_of_tools:LOOKS", "no 'LOOKS'. Did you mean 'LOOK'"),
        ("shelf_of_tools:NUMBER", "of type int"),
        ("shelf_of_tools:MIXED", "3 is not a tool"),
        ("shelf_of_tools:PLAIN", r"not tools: 'send' at \[1\]\. Put @toolplan\.tool above"),
        ("shelf_of_tools:MANY_PLAIN", r"'send' at \[4\], and 2 more\. Put @toolplan\.tool"),
        ("shelf_of_tools:TWICE", "Two tools"),
        ("shelf_of_tools:picky", "needs arguments"),
        ("shelf_of_tools:broken", "RuntimeError: no database"),
        ("shelf_of_tools:later", "coroutine"),
    ],
)
def test_what_names_no_tools_is_reported(folder: Path, spec: str, expected: str) -> None:
    with pytest.raises(ToolObjectError, match=expected):
        load_tools(spec, folder)


@pytest.mark.parametrize(
    ("attribute", "names"),
    [
        ("LOOK", ["look"]),
        ("BOX", ["look"]),
        ("MANY", ["look", "see"]),
        ("made", ["look"]),
        ("Shelf.tools", ["look"]),
    ],
)
def test_attributes_of_modules_give_tools(folder: Path, attribute: str, names: list[str]) -> None:
    assert list(load_tools(f"shelf_of_tools:{attribute}", folder)) == names


def test_the_current_folder_is_importable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert list(load_tools("shelf_of_tools:BOX")) == ["look"]


def test_a_value_that_is_no_tool_is_named() -> None:
    three: Any = [3]
    with pytest.raises(ToolObjectError) as raised:
        Toolbox(three)
    assert str(raised.value) == "3 is not a tool."


def test_our_own_sources_come_in_by_entry_points() -> None:
    assert [each.name for each in SOURCES.entries() if each.is_ours] == ["json", "mcp", "python"]
    assert "openapi" in SOURCES


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (json.dumps(TOOLS), "json"),
        (json.dumps({"tools": TOOLS}), "json"),
        ('{"mcpServers": {}}', "mcp"),
        ('{"openapi": "3.1.0"}', "openapi"),
        ('{"swagger": "2.0"}', "openapi"),
        ('{"something": "else"}', "json"),
        ("[{", "json"),
    ],
)
def test_the_source_of_a_file_is_recognised_by_its_text(folder: Path, text: str, name: str) -> None:
    assert source_of(write(folder, text), folder)[0] == name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "the key 'a' twice"),
        ('{"tools": [], "tools": []}', "the key 'tools' twice"),
        ('[{"name": "a", "name": "b"}]', "the key 'name' twice"),
        ('{"lock": 1, "tools": {"a": 1, "a": 2}}', "the key 'a' twice"),
        ('[{"name": "a", "input_schema": {"maximum": 1e999}}]', "1e999"),
        ('[{"name": "a", "input_schema": {"maximum": NaN}}]', "NaN"),
    ],
)
def test_no_file_of_ours_loses_a_value_when_read(folder: Path, text: str, message: str) -> None:
    path = folder / write(folder, text)
    with pytest.raises(ToolObjectError, match=message):
        source_of(path.name, folder)[1].open(path.name, SourceContext(folder)).__enter__()
    for read in (Pins.load, partial(read_servers, environment={})):
        with pytest.raises(ToolObjectError, match=message):
            read(path)


def test_a_yaml_file_is_an_openapi_document(folder: Path) -> None:
    (folder / "service.yaml").write_text("openapi: 3.1.0")
    assert source_of("service.yaml", folder)[0] == "openapi"
    with pytest.raises(ToolObjectError, match="There is no file"):
        source_of("absent.yaml", folder)


def test_tools_of_files_and_modules_load_no_other_source(folder: Path) -> None:
    """The SDK of MCP takes longer to load than all else that a check needs."""
    program = (
        "import sys; from tests.named_tools import load_tools;"
        f"load_tools({write(folder, json.dumps(TOOLS))!r}); load_tools('shelf_of_tools:BOX');"
        "sys.exit(bool({'mcp', 'httpx2', 'yaml'} & set(sys.modules)))"
    )
    path = os.pathsep.join((str(Path(__file__).parents[2]), str(folder)))
    environment = {**os.environ, "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", program], check=True, cwd=folder, env=environment)
