"""`toolplan show FILE`."""

from __future__ import annotations

from toolplan.cli._options import DialectOption, JsonFlag, known_dialect
from toolplan.cli._plan_file import print_diagnostics, read_plan
from toolplan.cli._terminal import CommandError, Exit, err, out, print_json
from toolplan.compiler import parse
from toolplan.plan_json import dump
from toolplan.render.plan_tree import plan_tree


def show_command(
    file: str, *, dialect: DialectOption = "toolplan", as_json: JsonFlag = False
) -> int:
    """Show a plan as a tree: each step, and what it needs.

    FILE may be - for standard input. With --json the plan is printed in its canonical form.
    """
    plan_file = read_plan(file, known_dialect(dialect))
    parsed = parse(plan_file.text, dialect)
    if parsed.diagnostics:
        print_diagnostics(err(), plan_file, parsed.diagnostics)
    if parsed.plan is None:
        raise CommandError(
            "unreadable-plan",
            f"{file} is no plan in the dialect {dialect!r}.",
            "--dialect says how it is written.",
            Exit.FAILED,
        )
    if as_json:
        print_json(dump(parsed.plan))
    else:
        out().print(plan_tree(parsed.plan))
    return Exit.FINE.value
