"""Small agents for tests: contracts as text, and tools that do little."""

from collections.abc import Iterable, Mapping

from toolplan import Toolbox, ToolError
from toolplan.plan.path import Json
from toolplan_adapters.contract import Briefing, Contracts, agent_tool, read_text

KNOWING = """
agent: Librarian
tool: librarian
role: knowledge
produces: [notes]
"""
FETCHING = """
agent: Fetcher
tool: fetcher
role: data
produces: [facts]
"""
JUDGING = """
agent: Judge
tool: judge
role: domain
produces: [verdict]
skills:
  - name: judging
    description: Judge {scope}
    data_dependencies:
      - {data_path: facts.rows, min_count: 2, priority: required}
      - {data_path: facts.extras, min_count: 0, priority: optional}
    enriched_by: [notes]
"""
FILES = {"fetcher.yaml": FETCHING, "judge.yaml": JUDGING, "librarian.yaml": KNOWING}


def contracts(more: Mapping[str, str] | None = None) -> Contracts:
    """Return the contracts of the three agents, and of `more`, by name of file."""
    texts = {**FILES, **(more or {})}
    return Contracts(read_text(name, texts[name]) for name in sorted(texts))


def librarian(_: Briefing) -> Mapping[str, Json]:
    return {"notes": ["a", "b"]}


def fetcher(briefing: Briefing) -> Mapping[str, Json]:
    return {"facts": {"rows": [*briefing.sites], "extras": []}}


def judge(briefing: Briefing) -> Mapping[str, Json]:
    return {"verdict": briefing.value("facts.rows"), "notes": briefing.value("notes")}


WORK = {"librarian": librarian, "fetcher": fetcher, "judge": judge}


def toolbox(known: Contracts, failing: Iterable[str] = ()) -> Toolbox:
    """Return the tools of the three agents, those of `failing` failing."""

    def fail(_: Briefing) -> Mapping[str, Json]:
        raise ToolError("It is closed.")

    broken = set(failing)
    return Toolbox(
        agent_tool(each, fail if each.tool in broken else WORK[each.tool], known)
        for each in known
        if each.tool in WORK
    )
