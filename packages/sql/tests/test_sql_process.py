"""The processes that SQL runs in: bounded, used again, and gone when they should be."""

import asyncio
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.processes import kill_own
from packages.sql.tests.sql_support import check, run
from toolplan.plan.path import Json
from toolplan.schema.tool import ToolError
from toolplan_sql import SqlLimits, sql_tool
from toolplan_sql import _database as processes

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="it looks into /proc")

FOREVER = "SELECT count(*) AS n FROM range(10000000) a, range(10000000) b WHERE a.range*b.range%7=3"
TEXT = "'" + "a" * 24 + "'"


def times(wrap: str, count: int, inner: str) -> str:
    """Return `inner` in `count` times `wrap`, which has one `@`."""
    for _ in range(count):
        inner = wrap.replace("@", inner)
    return inner


def doubling(first: str, wrap: str, count: int) -> str:
    """Return CTEs of which each makes more of the one before it."""
    parts = [f"a0 AS (SELECT {first} AS x)"]
    parts += [f"a{n + 1} AS (SELECT {wrap} AS x FROM a{n})" for n in range(count)]
    return "WITH " + ", ".join(parts) + f" SELECT len(x) AS n FROM a{count}"


GROWING = {
    "hex": f"SELECT length({times('hex(@)', 30, TEXT)}) AS n",
    "replace": f"SELECT length({times(f'replace(@, {chr(39)}a{chr(39)}, {TEXT})', 6, TEXT)}) AS n",
    "concat": doubling("'x'", "x || x || x || x", 20),
    "concat function": doubling("'x'", "concat(x, x, x, x)", 20),
    "lists": doubling("[1]", "list_concat(x, list_concat(x, x))", 24),
    "bin": f"SELECT length({times('bin(@)', 12, TEXT)}) AS n",
    "string_agg": "SELECT length(string_agg(hex(range), '-')) AS n FROM range(100000000)",
    "rows": f"SELECT {times(f'replace(@, {chr(39)}a{chr(39)}, {TEXT})', 2, TEXT)} AS x"
    " FROM range(90000)",
    "json": "SELECT json_group_array(json_object('a', range)) AS x FROM range(30000000)",
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("sql", GROWING.values(), ids=GROWING)
def test_a_statement_never_takes_more_than_its_memory(sql: str) -> None:
    script = f"""
        import asyncio, resource
        from toolplan_sql import SqlLimits, sql_tool
        from toolplan_sql._database import IDLE
        from toolplan.schema.tool import ToolError
        tool = sql_tool(SqlLimits(seconds=20, memory_mb=200))
        found = tool.compute_output({{"sql": {sql!r}}}, {{}})
        print(found.problems)
        try:
            print(asyncio.run(tool.call({{"sql": {sql!r}}})))
        except ToolError as error:
            print("refused:", error)
        assert asyncio.run(tool.call({{"sql": "SELECT 1 AS n"}}))["data"] == [{{"n": 1}}]
        for process in tuple(IDLE):
            process.stop()
        print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
    """
    done = ran(program(script))
    assert done.returncode == 0, done.stderr
    *_, refused, megabytes = done.stdout.splitlines()
    assert refused.startswith("refused: ")
    assert "needs more than 200 MB of memory" in refused or "longer than" in refused
    assert int(megabytes) < 400


def children() -> dict[int, str]:
    """Return the state of each process that this one started, by its id: Z of a zombie."""
    return dict(_children(os.getpid()))


def _children(parent: int) -> Iterator[tuple[int, str]]:
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = each.read_text().rpartition(") ")
        except OSError:  # it ended meanwhile
            continue
        state, owner, *_ = rest.split()
        if int(owner) == parent and (state == "Z" or "_child" in _command(each.parent)):
            yield int(name.split()[0]), state


def _command(folder: Path) -> str:
    try:
        return (folder / "cmdline").read_text()
    except OSError:
        return ""


def test_a_process_is_used_again_by_calls_and_checks() -> None:
    tool = sql_tool(SqlLimits(memory_mb=301))
    before = children().keys()
    for _ in range(3):
        check("SELECT 1 AS n")
        assert run("SELECT 1 AS n", {}, tool=tool) == [{"n": 1}]
    assert len(children().keys() - before) <= 2


def test_a_process_that_was_killed_is_replaced() -> None:
    tool = sql_tool(SqlLimits(memory_mb=302))
    before = children().keys()
    assert run("SELECT 1 AS n", {}, tool=tool) == [{"n": 1}]
    for pid in children().keys() - before:
        assert kill_own(pid)
    assert run("SELECT 2 AS n", {}, tool=tool) == [{"n": 2}]


def test_statements_that_are_stopped_leave_no_process_and_no_zombie() -> None:
    before = children()
    tool = sql_tool(SqlLimits(seconds=0.1, memory_mb=303))
    for _ in range(3):
        with pytest.raises(ToolError, match="longer than"):
            run(FOREVER, {}, tool=tool)
    left = {pid: state for pid, state in children().items() if pid not in before}
    assert left == {}


async def test_a_call_that_is_cancelled_leaves_no_process() -> None:
    tool = sql_tool(SqlLimits(memory_mb=304))
    before = children().keys()
    assert tool.call is not None
    call = asyncio.ensure_future(tool.call({"sql": FOREVER}))
    await asyncio.sleep(1.0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    # one that was stopped before it got the statement is kept
    _until(lambda: not children().keys() - before - {each.pid for each in processes.IDLE})


def test_a_large_result_does_not_stay_in_memory() -> None:
    tool = sql_tool(SqlLimits(memory_mb=400))
    rows: list[Json] = [{"n": n, "text": "x" * 200} for n in range(60_000)]
    assert len(run("SELECT * FROM t ORDER BY n", {"t": rows}, tool=tool)) == 60_000
    idle = [each for each in tuple(processes.IDLE) if each.memory_mb == 400]
    for process in idle:
        _, resident, *_ = Path(f"/proc/{process.pid}/statm").read_text().split()
        assert int(resident) * os.sysconf("SC_PAGE_SIZE") < 200_000_000


def test_no_secret_of_the_environment_reaches_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "sk-1234567890")
    tool = sql_tool(SqlLimits(memory_mb=305))
    before = children().keys()
    assert run("SELECT 1 AS n", {}, tool=tool) == [{"n": 1}]
    [pid] = children().keys() - before
    assert "SECRET_KEY" not in Path(f"/proc/{pid}/environ").read_text()


def program(text: str) -> list[str]:
    return [sys.executable, "-W", "ignore", "-c", textwrap.dedent(text)]


def ran(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_an_interrupted_program_leaves_no_process() -> None:
    script = f"""
        import os, signal
        from toolplan_sql import sql_tool
        tool = sql_tool()
        tool.compute_output({{"sql": "SELECT 1 AS n"}}, {{}})
        from toolplan_sql import _database
        [process] = _database.STARTED
        print(process.pid, flush=True)
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            for _ in range(1_000):
                tool.compute_output({{"sql": {GROWING["hex"]!r}}}, {{}})
        except KeyboardInterrupt:
            print("interrupted", len(_database.STARTED))
        print(tool.compute_output({{"sql": "SELECT 1 AS n"}}, {{}}).problems)
    """
    pid, interrupted, problems = ran(program(script)).stdout.splitlines()
    assert interrupted == "interrupted 0"
    assert problems == "()"
    _until(lambda: not Path(f"/proc/{pid}").exists())


def test_the_process_ends_with_a_program_that_is_killed() -> None:
    script = f"""
        import asyncio, threading, time
        from toolplan_sql import sql_tool
        from toolplan_sql import _database
        tool = sql_tool()
        tool.compute_output({{"sql": "SELECT 1 AS n"}}, {{}})
        def report():
            time.sleep(0.5)
            print(*(each.pid for each in _database.STARTED), flush=True)
        threading.Thread(target=report).start()
        asyncio.run(tool.call({{"sql": {FOREVER!r}}}))
    """
    with subprocess.Popen(program(script), stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        pids = started.stdout.readline().split()
        assert pids
        started.kill()
    _until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


def test_a_forked_program_has_processes_of_its_own() -> None:
    script = """
        import os, asyncio
        from toolplan_sql import sql_tool
        tool = sql_tool()
        def ask(n):
            sql = f"SELECT {n} AS n"
            assert tool.compute_output({"sql": sql}, {}).problems == ()
            assert asyncio.run(tool.call({"sql": sql}))["data"] == [{"n": n}]
        ask(0)
        forked = os.fork()
        for n in range(1, 30):
            ask(n if forked else -n)
        if not forked:
            raise SystemExit(0)  # runs what is registered for the end
        _, status = os.waitpid(forked, 0)
        assert status == 0
        ask(99)
        print("ok")
    """
    done = ran(program(script))
    assert done.stdout == "ok\n", done.stderr


def test_a_program_started_by_multiprocessing_can_use_sql(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(
        textwrap.dedent("""
        import asyncio, multiprocessing, sys
        from toolplan_sql import sql_tool
        tool = sql_tool()
        def ask(n):
            return asyncio.run(tool.call({"sql": f"SELECT {n} AS n"}))["data"][0]["n"]
        if __name__ == "__main__":
            ask(0)
            with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
                print(pool.map(ask, range(4)))
        """)
    )
    for method in ("spawn", "fork"):
        done = ran([sys.executable, "-W", "ignore", str(file), method])
        assert done.stdout == "[0, 1, 2, 3]\n", done.stderr


def test_where_the_system_holds_no_limit_the_process_watches_itself() -> None:
    script = f"""
        import sys, time
        sys.path.insert(0, {str(Path(processes.__file__).parent)!r})
        import _child
        sys.platform = "darwin"
        _child.bound_memory(_child.megabytes() + 50)
        held = bytearray(200_000_000)
        time.sleep(10)
    """
    assert ran(program(script)).returncode == 1


def test_sql_needs_a_python_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = sql_tool(SqlLimits(memory_mb=306))
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(ToolError, match="process of its own"):
        run("SELECT 1 AS n", {}, tool=tool)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(ToolError, match="cannot start"):
        run("SELECT 1 AS n", {}, tool=tool)
    assert tool.compute_output is not None
    [(pointer, message)] = tool.compute_output({"sql": "SELECT 1 AS n"}, {}).problems
    assert pointer == "/sql"
    assert "cannot start" in message


def _until(condition: object) -> None:
    assert callable(condition)
    for _ in range(200):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("It did not happen.")
