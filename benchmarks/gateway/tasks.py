"""Twenty tasks over five servers of others: by single calls, by a program, and by a plan.

`git`, `time` and `db` (mcp-server-git, mcp-server-time, mcp-server-sqlite) and `files` and `memory`
(the filesystem and memory servers of the Model Context Protocol) hold what `world` writes: twenty
reports, a repository of twenty commits, thirty orders, and twelve people.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

CITIES: Final = ("Berlin", "Bonn", "Kiel")
COMMITS: Final = 20
REPORTS: Final = 20
Call: TypeAlias = "tuple[str, dict[str, Any]]"


class Task(NamedTuple):
    """A task, in the words of a search, and three ways to do it.

    Attributes:
        query: what a model that does not know the tools yet searches for.
        calls: the calls of a client without a gateway, which reads each result.
        run: the arguments of the gateway's `run`.
        program: what a model writes in code mode; it prints what the plan returns.
    """

    name: str
    query: str
    calls: tuple[Call, ...]
    run: dict[str, Any]
    program: str

    @property
    def is_small(self) -> bool:
        """Whether one call does it."""
        return "tool" in self.run


def world(folder: Path) -> None:
    """Write what the servers serve into an empty folder."""
    reports = folder / "reports"
    reports.mkdir()
    for at in range(1, REPORTS + 1):
        state = "late" if at % 4 == 0 else "on time"
        body = "\n".join(f"Stop {stop}: delivered, nothing to note." for stop in range(1, 13))
        text = f"Report {at}\nTotal: {at * 17}\nArrived {state}.\n{body}\n"
        (reports / f"report{at}.txt").write_text(text, "utf-8")
    repository = folder / "repository"
    program = shutil.which("git") or "git"
    git = [
        program,
        "-C",
        str(repository),
        "-c",
        "user.name=Ann",
        "-c",
        "user.email=ann@example.org",
    ]
    subprocess.run([program, "init", "-q", str(repository)], check=True)
    for at in range(1, COMMITS + 1):
        name = "notes.txt" if at % 3 == 0 else "code.txt"
        with (repository / name).open("a") as file:
            file.writelines(f"line {line} of change {at}\n" for line in range(8))
        subprocess.run([*git, "add", "."], check=True)
        message = f"{'Fix' if at % 2 else 'Add'} number {at}"
        subprocess.run([*git, "commit", "-q", "-m", message], check=True)
    base = sqlite3.connect(folder / "orders.sqlite")
    for table in ("orders", "customers", "carriers", "returns"):
        base.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, name TEXT, city TEXT)")
    rows = [(at, f"Person {at % 12}", CITIES[at % 3]) for at in range(1, 31)]
    base.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
    base.commit()
    base.close()
    people = [
        {
            "type": "entity",
            "name": f"Person {at}",
            "entityType": "person",
            "observations": [
                f"lives in {CITIES[at % 3]}",
                f"{at} years in the house",
                "speaks German",
            ],
        }
        for at in range(12)
    ]
    (folder / "memory.jsonl").write_text("\n".join(map(json.dumps, people)), "utf-8")


def tasks(folder: Path) -> tuple[Task, ...]:
    """Return the tasks over the world in `folder`: ten of one call, ten of several."""
    text = Path(__file__).with_name("tasks.json").read_text("utf-8")
    return tuple(
        Task(
            each["name"],
            each["query"],
            tuple((name, arguments) for name, arguments in each["calls"]),
            each["run"],
            "\n".join(each["program"]),
        )
        for each in json.loads(text.replace("/FOLDER", str(folder)))
    )
