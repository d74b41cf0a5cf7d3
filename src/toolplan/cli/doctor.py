"""`toolplan doctor`."""

from __future__ import annotations

from typing import Final

from toolplan.app.checkup import Finding, State, check_up
from toolplan.cli.options import JsonFlag, ToolsOption
from toolplan.cli.terminal import Exit, out, print_json
from toolplan.plan.path import Json
from toolplan.show._lines import Prose
from toolplan.show.printable import count_text, printable

_SIGNS: Final = {State.FINE: ("✓", ""), State.ABSENT: ("–", "dim"), State.FAULTY: ("✗", "bold red")}


def doctor_command(*, tools: ToolsOption = None, as_json: JsonFlag = False) -> int:
    """Check what is installed and configured: extras, extensions, settings, models, TOOLS.

    Servers of TOOLS and of toolboxes are started, and a connection to each address that is
    configured is opened and closed again. The journal is read. No secret is printed. Exits 1 where
    something that is configured does not work.
    """
    findings: list[Finding] = []
    for each in check_up(tools or ()):
        findings.append(each)
        if not as_json:
            print_finding(each)
    faults = sum(each.state is State.FAULTY for each in findings)
    if as_json:
        listed: list[Json] = [{**each._asdict(), "state": each.state.value} for each in findings]
        print_json({"faults": faults, "findings": listed})
    else:
        out().print(f"{count_text(faults, 'fault')}.", style="bold")
    return (Exit.FAILED if faults else Exit.FINE).value


def print_finding(finding: Finding) -> None:
    """Print a finding, and below it the fix."""
    console = out()
    sign, style = _SIGNS[finding.state]
    line = printable(f"{sign} {finding.subject}: {finding.text}")
    console.print(Prose(line, style, below="    "))
    if finding.help:
        console.print(Prose(f"    {printable(finding.help)}", "dim"))
