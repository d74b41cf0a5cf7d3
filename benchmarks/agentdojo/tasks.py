"""The tasks, the tools, the plans written by hand, and the policies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from toolplan.plan.path import Json
from toolplan.policy import Policy, draft_policy, parse_policy
from toolplan.schema.tool import Effects, Toolbox
from toolplan.testing import scripted_extract
from toolplan_sql import sql_tool

HERE: Final = Path(__file__).parent
READS: Final = frozenset(("get", "search", "list", "read", "check"))
DESTROYS: Final = frozenset(("delete", "cancel", "remove"))


class Task(NamedTuple):
    """A user task: its plan is None where it cannot be planned."""

    name: str
    suite: str
    plan: dict[str, Json] | None


def effects_of(name: str) -> Effects:
    """Return what a tool changes: AgentDojo does not say it, the verbs of its names do."""
    verb = name.partition("_")[0]
    if verb in READS:
        return Effects.READ
    return Effects.DESTRUCTIVE if verb in DESTROYS else Effects.WRITE


def load_tools(data: Path) -> dict[str, Toolbox]:
    """Return the tools of each suite, with `sql` and `extract`."""
    suites: dict[str, Json] = json.loads((data / "agentdojo.tools.json").read_text("utf-8"))
    found: dict[str, Toolbox] = {}
    for suite, objects in suites.items():
        tools = Toolbox.from_json(objects)
        tools = tools.labelled({name: effects_of(name) for name in tools})
        found[suite] = tools.with_tools(sql_tool(), scripted_extract(lambda text, asked: None))
    return found


def load_tasks(data: Path) -> list[Task]:
    """Return the user tasks, each with its plan."""
    plans: dict[str, dict[str, Json]] = json.loads((HERE / "plans.json").read_text("utf-8"))
    found: list[Task] = []
    for line in (data / "agentdojo.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        name = str(row["id"]).removeprefix("agentdojo-")
        if "injection" not in name:
            found.append(Task(name, str(row["toolset"]), plans.get(name)))
    return found


def policies(kind: str, tools: Mapping[str, Toolbox]) -> dict[str, Policy]:
    """Return the policy of each suite: `none`, the `draft` of `policy init`, or the `file`."""
    match kind:
        case "none":
            return {suite: Policy() for suite in tools}
        case "draft":
            return {suite: parse_policy(draft_policy(box)) for suite, box in tools.items()}
        case _:
            files = {suite: HERE / "policies" / f"{suite}.toml" for suite in tools}
            return {
                suite: parse_policy(file.read_text("utf-8"), file.name)
                for suite, file in files.items()
            }
