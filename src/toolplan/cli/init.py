"""Commands of the first day: `toolplan init` and `toolplan doctor`."""

from __future__ import annotations

import json
import shutil
import sys
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from toolplan.app.checkup import Finding, State, check_up
from toolplan.app.settings import FILE as SETTINGS
from toolplan.cli.options import JsonFlag, ToolsOption
from toolplan.cli.plan_file import writing
from toolplan.cli.terminal import CommandError, Exit, out, print_json
from toolplan.plan.path import Json
from toolplan.show.document import Prose
from toolplan.show.printable import count_text, printable

TOOLS: Final = "books.py"
SERVERS: Final = "mcp.json"
TESTS: Final = "books.plans.yaml"


def _text(name: str) -> str:
    return (files("toolplan.cli") / "first_files" / name).read_text("utf-8")


FolderArgument = Annotated[
    Path, Parameter(name="FOLDER", help="Where to write; it is made where it does not exist.")
]
_NEXT: Final = (
    'toolplan ask "List books by Ada" --tools "books:*"',
    f"toolplan test {TESTS}",
    f"toolplan tools --tools {SERVERS}",
    'toolplan doctor --tools "books:*"',
)
_SETTINGS_NEED: Final = "The settings are read where TOOLPLAN_HOME names their folder:"


def init_command(folder: FolderArgument = Path(), /, *, as_json: JsonFlag = False) -> None:
    """Write first files into FOLDER: tools, settings, an MCP configuration, a plan test.

    Each works as it is written. No file is overwritten: where one exists, nothing is written.
    """
    found, own = shutil.which("toolplan"), Path(sys.executable).with_name("toolplan")
    is_on_path = found is not None and Path(found).absolute() == own
    # the words that start this toolplan from anywhere, for the MCP server
    program, *words = ["toolplan"] if is_on_path else [sys.executable, "-m", "toolplan"]
    server = {"command": program, "args": [*words, "demo", "--mcp"]}
    servers = json.dumps({"mcpServers": {"demo": server}}, indent=2)
    texts = {
        folder / TOOLS: _text("books.py.txt"),
        folder / SETTINGS: _text(SETTINGS),
        folder / SERVERS: f"{servers}\n",
        folder / TESTS: _text(f"{TESTS}.txt"),
    }
    if there := [str(path) for path in texts if path.exists() or path.is_symlink()]:
        raise CommandError(
            "file-exists",
            f"Nothing was written: there is already {', '.join(there)}.",
            "Move it away, or name another folder: toolplan init FOLDER.",
        )
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            with path.open("x", encoding="utf-8") as file:  # never over a file made meanwhile
                file.write(text)
    _print(folder, list(texts), as_json=as_json)


def _print(folder: Path, files: list[Path], *, as_json: bool) -> None:
    home = f"export TOOLPLAN_HOME={folder.absolute()}"
    if as_json:
        print_json({"files": [str(path) for path in files], "next": [*_NEXT, home]})
        return
    console = out()
    for path in files:
        console.print(f"wrote {path}", soft_wrap=True)
    console.print("\nNext:" if folder == Path() else f"\nNext, in {folder}:", soft_wrap=True)
    for line in _NEXT:
        console.print(f"    {line}", soft_wrap=True)
    console.print(f"{_SETTINGS_NEED}\n    {home}", soft_wrap=True)


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
