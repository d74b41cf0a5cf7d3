"""The demo's rows, kept from one process to the next."""

import datetime
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from packages.demo.tests.conftest import function, node
from toolplan_demo import demo_tools, open_database
from toolplan_demo.database import CACHE_VARIABLE

DAY = datetime.date(2025, 10, 12)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def content(day: datetime.date = DAY, rows: int = 800) -> list[str]:
    with closing(open_database(day, rows)) as connection:
        return list(connection.iterdump())


def test_what_was_generated_once_is_read_again_and_is_the_same(folder: Path) -> None:
    generated = content()
    (file,) = folder.iterdir()
    before = file.stat().st_mtime_ns
    assert content() == generated
    assert file.stat().st_mtime_ns == before
    assert content(DAY + datetime.timedelta(1)) != generated
    assert content(rows=900) != generated


def flipped(content: bytes, place: int) -> bytes:
    damaged = bytearray(content)
    damaged[place] ^= 1
    return bytes(damaged)


def cut_off(content: bytes, length: int) -> bytes:
    return content[:length]


@pytest.mark.parametrize(
    ("damage", "at", "keeps_time"),
    [
        *((flipped, place, keeps) for place in (0, 20, 50, 5_000, -1) for keeps in (False, True)),
        *((cut_off, length, keeps) for length in (0, 3, 40, 5_000) for keeps in (False, True)),
    ],
)
def test_a_damaged_file_is_generated_anew(
    folder: Path, damage: Callable[[bytes, int], bytes], at: int, keeps_time: bool
) -> None:
    generated = content()
    (file,) = folder.iterdir()
    before = file.stat()
    file.write_bytes(damage(file.read_bytes(), at))
    if keeps_time:
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert content() == generated


def test_what_cannot_be_saved_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "replace", fail)
    assert content() == content()
    assert not list(folder.iterdir())


def test_read_only_folders_cost_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "file" / "cache"))
    assert content()


def test_a_few_files_are_kept_the_newest(folder: Path) -> None:
    for back in range(12):
        content(DAY - datetime.timedelta(back), rows=1)
    names = sorted(path.name[:10] for path in folder.iterdir())
    assert len(names) == 8
    assert names[0] == "2025-10-01"


async def test_what_a_tool_writes_is_in_no_other_database(folder: Path) -> None:
    first, second = demo_tools(DAY, rows=800), demo_tools(DAY, rows=800)
    change, find = function(first, "shipments_update"), function(second, "shipments_get")
    await change({"id": "S20251012-001", "status": "rejected", "weight_kg": 1})
    assert node(node(await find({"id": "S20251012-001"}))["data"])["weight_kg"] != 1
    with closing(open_database(DAY, 800)) as connection:
        weight = "SELECT weight_kg FROM shipments WHERE id = 'S20251012-001'"
        assert connection.execute(weight).fetchone() != (1,)
