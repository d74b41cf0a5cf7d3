"""A server that does not answer holds up no other one: it is named, and its tools come later."""

import sys
import threading
from pathlib import Path

import pytest

from tests.sources.mcp.scripts import Changeable, Scripted, call, listed_tool, names, one_page
from toolplan.schema.tool import ToolObjectError
from toolplan.tools.mcp import Notice, ServerLost, ServerStarted, StdioServer, connected
from toolplan.tools.mcp._listing import Listed, Listing
from toolplan.tools.pins import Pin

HANGS = StdioServer(sys.executable, ("-S", "-c", "import sys; sys.stdin.read()"))
ENDS = StdioServer(sys.executable, ("-S", "-c", "raise SystemExit(3)"))
GRACE_S = 0.05
LONG_S = 20.0


def late_one(folder: Path) -> tuple[StdioServer, Path]:
    """Return a server that answers nothing before a file is there, and the file."""
    switch = folder / "switch"
    script = Scripted(folder, pages=one_page(listed_tool("late")), waits=str(switch))
    return script.server(), switch


def test_tools_of_a_slow_server_come_later(tmp_path: Path) -> None:
    server, switch = late_one(tmp_path)
    started = threading.Event()

    def on_event(notice: Notice) -> None:
        if isinstance(notice, ServerStarted) and notice.server == "slow":
            started.set()

    servers = {"slow": server, "good": Changeable(listed_tool("now")).server()}
    with connected(servers, on_event=on_event) as source:
        assert names(source.toolbox(GRACE_S)) == ["good.now"]
        assert source.faults == {
            "slow": "The server 'slow' has not answered yet; its tools are missing until it does."
        }
        assert source.late_toolbox() is None
        switch.touch()
        assert started.wait(LONG_S)
        while (tools := source.late_toolbox()) is None:
            assert started.wait()
        assert names(tools) == ["slow.late", "good.now"]
        assert source.faults == {}
        assert source.late_toolbox() is None


def test_why_a_slow_server_failed_is_said_later(tmp_path: Path) -> None:
    lost = threading.Event()

    def on_event(notice: Notice) -> None:
        if isinstance(notice, ServerLost):
            lost.set()

    servers = {"good": Changeable(listed_tool("now")).server(), "hangs": HANGS}
    with connected(servers, on_event=on_event, start_timeout_s=0.5) as source:
        assert names(source.toolbox(0.0)) == ["good.now"]
        assert "has not answered yet" in source.faults["hangs"]
        assert lost.wait(LONG_S)
        while (tools := source.late_toolbox()) is None:
            assert lost.wait()
        assert names(tools) == ["good.now"]
        assert source.faults == {
            "hangs": "The server 'hangs' failed: it did not start within 0.5 s."
        }


def test_without_any_answer_servers_are_waited_for(tmp_path: Path) -> None:
    server, switch = late_one(tmp_path)
    timer = threading.Timer(4 * GRACE_S, switch.touch)
    timer.start()
    with connected({"ends": ENDS, "slow": server}) as source:
        assert names(source.toolbox(GRACE_S)) == ["slow.late"]
        assert "'ends' failed" in source.faults["ends"]
    timer.join()
    with connected({"ends": ENDS}) as source, pytest.raises(ToolObjectError, match="'ends' failed"):
        source.toolbox(GRACE_S)


def test_all_are_waited_for_where_no_grace_is_named(tmp_path: Path) -> None:
    server, switch = late_one(tmp_path)
    timer = threading.Timer(4 * GRACE_S, switch.touch)
    timer.start()
    servers = {"good": Changeable(listed_tool("now")).server(), "slow": server}
    with connected(servers) as source:
        assert names(source.toolbox()) == ["good.now", "slow.late"]
        assert source.faults == {}
    timer.join()


@pytest.mark.parametrize("now", ["old", "new"])
def test_a_known_server_that_lists_the_same_is_no_news(tmp_path: Path, now: str) -> None:
    results = {"old": {"content": [{"type": "text", "text": "done"}]}}
    script = Scripted(tmp_path, pages=one_page(listed_tool("old")), results=results)
    with connected({"it": script.server()}) as source:
        pin = Pin.of(source.toolbox()["it.old"])
    known = {"it": Listing({"old": Listed("old", pin.tool, pin.digest)}, (), pin.server)}
    script.write(pages=one_page(listed_tool("old"), *([] if now == "old" else [listed_tool(now)])))
    with connected({"it": script.server()}) as source:
        tools = source.toolbox(GRACE_S, known)
        assert names(tools) == ["it.old"]
        assert call(tools, "it.old") == "done"  # by then it has listed its tools
        late = source.late_toolbox()
    assert (late and names(late)) == (None if now == "old" else ["it.old", "it.new"])
