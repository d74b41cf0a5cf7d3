"""File pairs: `<dialect>/<case>.txt` with the canonical plan and the diagnostics that it gives.

`<case>.plan.json` holds null where no plan could be read; `<case>.diagnostics` says where each
diagnostic stands in the text. `UPDATE_SNAPSHOTS=1 pytest tests/dialects` writes both; read the
difference.
"""

import json
import os
from pathlib import Path

import pytest

from toolplan.dialects import DIALECTS
from toolplan.plan.canonical import dump
from toolplan.plan.text.places import line_and_column

HERE = Path(__file__).parent
CASES = sorted(HERE.glob("*/*.txt"))


def read(case: Path) -> tuple[str, str]:
    """Return the canonical plan that the text of `case` says, and what is said about it."""
    text = case.read_bytes().decode("utf-8")
    dialect = DIALECTS[case.parent.name]
    parsed = dialect.parse(text)
    plan = None if parsed.plan is None else dump(parsed.plan)
    lines: list[str] = []
    for each in parsed.diagnostics:
        span = dialect.locate(text, each.pointer)
        place = "nowhere"
        if span is not None:
            line, column = line_and_column(text, span.start)
            place = f"{line}:{column} {text[span.start : span.end].splitlines()[0][:40]!r}"
        lines += [f"{each.severity.value}[{each.code}] {each.pointer}", f"    {each.message}"]
        if each.help:
            lines.append(f"    help: {each.help}")
        lines.append(f"    at {place}")
    return json.dumps(plan, ensure_ascii=False, indent=2) + "\n", "".join(f"{s}\n" for s in lines)


def expect(file: Path, said: str) -> None:
    """Compare `said` with what `file` holds; where there is nothing to say, there is no file."""
    if os.environ.get("UPDATE_SNAPSHOTS"):
        if said:
            file.write_text(said, "utf-8")
        else:
            file.unlink(missing_ok=True)
    assert said == (file.read_text("utf-8") if file.exists() else "")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.stem}")
def test_a_text_gives_exactly_this_plan_and_these_diagnostics(case: Path) -> None:
    plan, diagnostics = read(case)
    expect(case.with_suffix(".plan.json"), plan)
    expect(case.with_suffix(".diagnostics"), diagnostics)


def test_every_dialect_has_pairs() -> None:
    assert {case.parent.name for case in CASES} == set(DIALECTS)
