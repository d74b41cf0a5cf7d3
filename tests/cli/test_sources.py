"""Commands over tools of MCP servers and OpenAPI documents, each in a process of its own."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.cli.calls import Call, Said
from tests.sources.mcp.scripts import Scripted, listed_tool, one_page

EXAMPLE = Path(__file__).parents[2] / "examples" / "mcp.json"
QUESTION = "Get contaminated shipments from last week"
DAY = ("--today", "2025-10-12", "--json")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOOLPLAN_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def example(tmp_path: Path) -> Path:
    return Path(shutil.copy(EXAMPLE, tmp_path / "mcp.json"))


@contextmanager
def served(*words: str) -> Generator[int]:
    """Run the demo on a free port, and give the port when it listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
    process = subprocess.Popen(
        [sys.executable, "-m", "toolplan", "demo", *words, "--port", str(port)],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ.copy(),
    )
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait()


def assert_same(there: Said, here: Said) -> None:
    """Compare the results, which are named for the things and not for the server."""
    assert there.json["output"].keys() == {"shipments"}
    assert there.json["output"] == here.json["output"]
    assert there.json["answer"] == here.json["answer"]


def test_the_demo_over_stdio_gives_the_answer_that_it_gives_in_process(
    call: Call, example: Path
) -> None:
    here = call("ask", QUESTION, *DAY)
    first = call("ask", QUESTION, "--tools", str(example), *DAY)
    accepted = call("tools", "--tools", str(example), "--accept")
    there = call("ask", QUESTION, "--tools", str(example), *DAY)
    assert there.code == here.code == 0, there.err
    assert_same(there, here)
    assert first.code == 1
    assert "That counts when it is accepted: toolplan tools --tools" in first.err
    assert "demo says that it only reads: " in accepted.err
    assert "--accept" not in accepted.err
    assert "Starts the MCP server 'demo': toolplan demo --mcp" in first.err
    pins = json.loads((example.parent / "toolplan.lock.json").read_text("utf-8"))
    assert "demo.shipments_list" in pins["tools"]
    lock = example.parent / "toolplan.lock.json"
    assert f"Pinned for the first time in {lock}: {len(pins['tools'])} tools." in first.err
    assert "Pinned" not in call("tools", "--tools", str(example)).err


def test_the_demo_over_http_gives_the_same_answer(call: Call, home: Path) -> None:
    here = call("ask", QUESTION, *DAY)
    with served("--mcp-http") as port:
        file = home / "mcp.json"
        document = {"mcpServers": {"demo": {"url": f"http://127.0.0.1:{port}/mcp"}}}
        file.write_text(json.dumps(document), "utf-8")
        (home / "home").mkdir(exist_ok=True)
        (home / "home" / "toolplan.toml").write_text("[sources.demo]\ntrusted = true\n", "utf-8")
        there = call("ask", QUESTION, "--tools", str(file), *DAY)
    assert there.code == 0, there.err
    assert_same(there, here)


def test_the_demos_rest_api_is_tools_too(call: Call, home: Path) -> None:
    here = call("ask", QUESTION, *DAY)
    with served("--http") as port:
        base = f"http://127.0.0.1:{port}"
        file = home / "waste.json"
        file.write_bytes(httpx2.get(f"{base}/openapi.json").content)
        without = call("ask", QUESTION, "--tools", str(file), *DAY)
        there = call("ask", QUESTION, "--tools", str(file), "--base-url", base, *DAY)
        (home / "home" / "toolplan.toml").write_text(
            f'[openapi.waste]\nbase_url = "{base}"\n', "utf-8"
        )
        set_ = call("ask", QUESTION, "--tools", str(file), *DAY)
    assert without.code == 2
    assert "cannot-run" in without.err
    assert there.code == set_.code == 0, there.err
    assert there.json["output"] == set_.json["output"] == here.json["output"]


def test_only_what_was_shown_is_accepted(call: Call, example: Path) -> None:
    """D18: a server may say something else at the moment of --accept."""

    def serve(*words: str) -> None:
        document = json.loads(example.read_text("utf-8"))
        document["mcpServers"]["demo"]["args"] = ["demo", *words]
        example.write_text(json.dumps(document), "utf-8")

    lock = example.parent / "toolplan.lock.json"
    tools = ("tools", "--tools", str(example))
    assert call(*tools).code == 0
    pinned = lock.read_text("utf-8")
    serve()
    assert "Changed, and not used until accepted" in call(*tools).err
    serve("--rows", "50")  # it changes again before it is accepted
    for words in (("--accept",), ("demo.facilities_list", "--accept")):
        said = call(*tools[:1], *words, *tools[1:])
        if words[0] == "--accept":
            assert said.code == 2
            assert "had not been shown like this before" in said.err
            assert "--accept" not in said.err
            assert 'server/args: was ["demo", "--mcp"], is ["demo", "--rows", "50"]' in said.err
            assert lock.read_text("utf-8") == pinned
        else:  # the refusal has shown it
            assert said.code == 0
    assert call(*tools, "--accept").code == 0
    assert "Changed" not in call(*tools).err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"mcpServers": {"a b": {"command": "x"}}}', "a b"),
        ('{"mcpServers": {"a": {}}}', "mcpServers.a: a server takes either 'command'"),
        ('{"mcpServers": {"a": {"command": "no-such-program-anywhere"}}}', "no-such-program"),
        ('{"openapi": "3.1.0"}', "no operation"),
        (
            '[{"name": "a", "annotations": {"effects": "write", "effects": "read"}}]',
            "'effects' twice",
        ),
        ('{"tools": [{"name": "a", "input_schema": {"maximum": Infinity}}]}', "Infinity"),
        ('{"mcpServers": {"a": {"command": "x", "env": {"T": "${NOT_SET_ANYWHERE}"}}}}', "NOT_SET"),
    ],
)
def test_unusable_documents_say_why(call: Call, home: Path, text: str, message: str) -> None:
    file = home / "document.json"
    file.write_text(text, "utf-8")
    said = call("tools", "--tools", str(file), code=2)
    assert message in said.err


def test_a_tool_that_never_could_be_used_is_marked_but_unchanged(home: Path, call: Call) -> None:
    bad = {"type": "object", "properties": {"q": {"type": "str"}}}
    pages = one_page(listed_tool("good"), listed_tool("bad", inputSchema=bad))
    server = Scripted(home, pages=pages).server()
    servers = {"it": {"command": server.command, "args": [*server.args]}}
    (home / "mcp.json").write_text(json.dumps({"mcpServers": servers}), "utf-8")
    for _ in range(2):
        said = call("tools", "--tools", str(home / "mcp.json"))
        rows = dict(line.split("  ", 1) for line in said.out.splitlines() if line.startswith("it."))
        assert rows["it.bad"].strip().startswith("cannot be used")
        assert not rows["it.good"].strip().startswith("cannot be used")
        assert "/properties/q/type is not valid JSON Schema" in said.err
        assert "changed since" not in said.out + said.err
