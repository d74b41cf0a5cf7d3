"""Memory: what a session said it finds again, and no other session ever does."""

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolplan.plan.path import Json
from toolplan.storage.memory import (
    APPLICATION_ID,
    MIGRATIONS,
    Episode,
    MemoryFault,
    MemoryLimits,
    SqliteMemory,
)

PLAN: Json = {"toolplan": 1, "steps": [{"id": "s", "tool": "shipments_list"}]}


NOTHING: Json = {"semantic": [], "episodic": [], "entities": []}


def turn(query: str, *entities: str, text: str = "", plan: Json = None) -> Episode:
    return Episode(query, "2025-10-12T06:00:00Z", plan, entities, text)


def filled(path: Path | None = None, **sessions: list[str]) -> SqliteMemory:
    memory = SqliteMemory(path)
    for session, queries in sessions.items():
        for query in queries:
            memory.remember(session, turn(query))
    return memory


def queries(memory: SqliteMemory, session: str, *entities: str) -> list[str]:
    return [each.query for each in memory.episodic(session, 100, entities)]


def test_a_context_has_the_shape_of_f000_39() -> None:
    """F000-39: semantic texts with scores, episodes with time and plan, entities."""
    memory = SqliteMemory()
    memory.remember("s", turn("Get facilities in Berlin", "location:Berlin", "facility", plan=PLAN))
    assert memory.recall("s", "FACILITY") == {
        "semantic": [{"text": "Get facilities in Berlin", "score": 1.0}],
        "episodic": [
            {"query": "Get facilities in Berlin", "timestamp": "2025-10-12T06:00:00Z", "plan": PLAN}
        ],
        "entities": ["facility", "location:Berlin"],
    }


def test_a_session_of_which_nothing_is_known_recalls_nothing() -> None:
    assert SqliteMemory().recall("s", "shipments") == NOTHING


def test_what_was_asked_back_is_recalled_only_until_the_next_turn() -> None:
    memory = SqliteMemory()
    pending: Json = {"question": "Show me stuff", "options": ["shipments"]}
    memory.remember("s", Episode("Show me stuff", "t", pending=pending))
    recalled = memory.recall("s", "")
    assert isinstance(recalled, dict)
    assert recalled["pending"] == pending
    memory.remember("s", turn("Get shipments"))
    recalled = memory.recall("s", "")
    assert isinstance(recalled, dict)
    assert "pending" not in recalled


def test_turns_are_found_by_what_they_spoke_of() -> None:
    """2.7: the seed looked for entities among the ids of requests, and never found a turn."""
    memory = SqliteMemory()
    memory.remember("s", turn("one", "location:Berlin", "facility"))
    memory.remember("s", turn("two", "location:Munich", "facility"))
    memory.remember("s", turn("three", "shipment"))
    assert queries(memory, "s", "location:Berlin") == ["one"]
    assert queries(memory, "s", "facility", "location:Berlin") == ["two", "one"]
    assert queries(memory, "s", "location:Bonn") == []
    assert queries(memory, "s") == ["three", "two", "one"]
    assert memory.entities("s") == ("shipment", "facility", "location:Munich", "location:Berlin")


def test_the_likest_text_comes_first_and_scores_lie_between_0_and_1() -> None:
    memory = filled(
        s=["Get shipments from last week", "Rejected shipments in Köln", "List the inspections"]
    )
    found = memory.semantic("rejected shipment koln", "s")
    assert [each.text for each in found] == [
        "Rejected shipments in Köln",  # stems and accents are the same
        "Get shipments from last week",
    ]
    assert found[0].score == 1.0
    assert 0 < found[1].score < 0.5
    memory.remember("s", turn("Which is the worst?", text="NordWaste, with 27 percent"))
    assert [each.text for each in memory.semantic("nordwaste", "s")] == [
        "Which is the worst?\nNordWaste, with 27 percent"
    ]


WORDS = st.lists(st.sampled_from(["red", "blue", "oak", "pine", "elm"]), max_size=4).map(" ".join)
TALK = st.lists(st.tuples(st.sampled_from("ab"), WORDS, st.frozensets(WORDS, max_size=2)))


@given(TALK, WORDS)
def test_no_session_sees_hears_or_weighs_what_another_said(
    talk: list[tuple[str, str, frozenset[str]]], query: str
) -> None:
    """2.7: all users of the seed shared one memory."""
    shared, alone = SqliteMemory(), SqliteMemory()
    for session, said, entities in talk:
        shared.remember(session, turn(said, *entities))
        if session == "a":
            alone.remember(session, turn(said, *entities))
    assert shared.recall("a", query) == alone.recall("a", query)
    assert shared.semantic(query, "a", 99) == alone.semantic(query, "a", 99)
    assert shared.episodic("a", 99) == alone.episodic("a", 99)
    assert shared.entities("a") == alone.entities("a")


@given(st.text(), st.text(), st.text())
def test_any_text_is_kept_and_any_query_is_answered(session: str, said: str, query: str) -> None:
    memory = SqliteMemory()
    memory.remember(session, turn(said, said, text=query))
    (kept,) = memory.episodic(session)
    assert kept.query == said.replace("\0", " ")[:4000]
    assert all(0 <= each.score <= 1 for each in memory.semantic(query, session))
    assert memory.episodic(session + "x") == ()


@pytest.mark.parametrize(
    "query", ['"', "a OR b", "session : x", "NEAR(a b)", "text:*", "-", "a AND NOT b", "'; DROP"]
)
def test_a_query_is_words_and_never_syntax(query: str) -> None:
    memory = filled(a=["secret of a"], b=["b"])
    assert all("secret" not in each.text for each in memory.semantic(query, "b"))


def test_names_of_sessions_do_not_stand_in_the_file(tmp_path: Path) -> None:
    filled(tmp_path / "memory", **{"ada@example.org": ["x"]}).close()
    assert b"ada@example" not in (tmp_path / "memory").read_bytes()


def test_what_is_forgotten_is_gone_from_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    memory = filled(path, a=["the xylophone question"], b=["another"])
    memory.forget("a")
    assert memory.recall("a", "xylophone") == NOTHING
    assert queries(memory, "b") == ["another"]
    assert all(b"xylophone" not in each.read_bytes() for each in tmp_path.iterdir())


def test_memory_is_on_disk_for_the_next_process_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "memory"
    filled(path, a=["one"]).close()
    assert queries(SqliteMemory(path), "a") == ["one"]
    assert path.stat().st_mode & 0o077 == 0
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


def test_a_closed_memory_has_closed_its_file_and_opens_it_again(tmp_path: Path) -> None:
    memory = filled(tmp_path / "memory", a=["one"])
    with memory._opened() as connection:  # pyright: ignore[reportPrivateUsage]
        pass
    memory.close()
    memory.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
    assert queries(memory, "a") == ["one"]


def test_size_is_bounded_by_turns_sessions_and_characters() -> None:
    memory = SqliteMemory(limits=MemoryLimits(2, 2, 2, characters=5, plan_characters=20))
    for session in "abc":
        for number in range(4):
            memory.remember(session, turn(f"turn {number}", "e1", "e2", "e3", plan=PLAN))
    assert queries(memory, "a") == []  # not used for longest
    assert queries(memory, "b") == queries(memory, "c") == ["turn ", "turn "]
    assert memory.episodic("c")[0].plan is None
    assert memory.entities("c") == ("e1", "e2")
    with memory._opened() as connection:  # pyright: ignore[reportPrivateUsage]
        for table in ("episodes", "words"):
            (rows,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
            assert rows == 4


def test_threads_share_one_memory_and_memories_share_one_file(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    memories = [SqliteMemory(path), SqliteMemory(path)]

    def talk(number: int) -> None:
        for at in range(10):
            memories[number % 2].remember(f"s{number}", turn(f"turn {at} of {number}"))
            assert len(memories[number % 2].semantic("turn", f"s{number}", 99)) == at + 1

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len(memories[0].episodic(f"s{number}", 99)) == 10 for number in range(6))


def _locked(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    _KEPT.append(other)


_KEPT: list[sqlite3.Connection] = []


def _overwritten(path: Path) -> None:
    path.write_bytes(b"this is no database at all, only text" * 200)
    for other in path.parent.glob("memory-*"):
        other.unlink()


def _foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()


def _newer(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    other.close()


def _a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("harm", "code"),
    [
        (_locked, "memory-locked"),
        (_overwritten, "memory-damaged"),
        (_foreign, "memory-damaged"),
        (_newer, "memory-newer"),
        (_a_folder, "memory-unavailable"),
    ],
)
def test_an_unusable_file_is_named(tmp_path: Path, harm: Callable[[Path], None], code: str) -> None:
    path = tmp_path / "memory"
    filled(path, a=["one"]).close()
    harm(path)
    try:
        with pytest.raises(MemoryFault, match=r"The memory (\S*/)?memory ") as raised:
            SqliteMemory(path).remember("a", turn("two"))
    finally:
        while _KEPT:
            _KEPT.pop().close()
    assert raised.value.code == code
    assert raised.value.help


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_reported_by_name(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(MemoryFault) as raised:
        SqliteMemory(tmp_path / "memory").remember("a", turn("one"))
    assert raised.value.code == "memory-read-only"


def test_a_file_that_may_only_be_read_is_reported_by_name(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    memory = filled(path, a=["one"])
    with memory._opened() as connection:  # pyright: ignore[reportPrivateUsage]
        connection.execute("PRAGMA query_only = ON")
    with pytest.raises(MemoryFault) as raised:
        memory.remember("a", turn("two"))
    assert raised.value.code == "memory-read-only"


def test_memory_that_fails_is_used_again_when_it_is_well(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    filled(path, a=["one"]).close()
    memory = SqliteMemory(path)
    _locked(path)
    with pytest.raises(MemoryFault):
        memory.remember("a", turn("two"))
    _KEPT.pop().close()
    memory.remember("a", turn("two"))
    assert queries(memory, "a") == ["two", "one"]
