"""Plans in files."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from toolplan.app.settings import file_fault, journal_at, user_journal
from toolplan.cli.terminal import CommandError, err, note
from toolplan.compiler import parse, to_text
from toolplan.dialects import dialect_of, known_dialect
from toolplan.plan.diagnostics import CannotExpress, Diagnostic, to_json
from toolplan.plan.model import Limits, Plan
from toolplan.schema.tool import Toolbox
from toolplan.show.console import Output
from toolplan.show.diagnostics import DiagnosticView, Located, located
from toolplan.show.printable import harmless_json
from toolplan.storage.journal import JournalError
from toolplan.storage.shared_file import write_whole


class PlanFile(Struct, frozen=True):
    """The text of a plan, and its name in messages."""

    name: str
    text: str
    dialect: str

    def located(self, diagnostics: Sequence[Diagnostic]) -> tuple[Located, ...]:
        """Return `diagnostics`, the first ones with their places in the text."""
        return located(diagnostics, partial(known_dialect(self.dialect).locate, self.text))


def read_plan(name: str, dialect: str) -> PlanFile:
    """Read the file `name`; `-` is standard input.

    Raises:
        ToolplanError: there is no such dialect.
        CommandError: there is no such file. One that is larger than any plan is cut.
    """
    known_dialect(dialect)
    most = Limits().text_bytes + 1
    try:
        if name == "-":
            raw = sys.stdin.buffer.read(most)
        else:
            with Path(name).open("rb") as file:
                raw = file.read(most)
    except OSError as error:
        reason = file_fault(error)
        raise CommandError("unreadable-file", f"{name}: {reason}.", "Name a file, or -.") from None
    # bytes that are not UTF-8 become surrogates, which every dialect refuses with their place
    return PlanFile(name, raw.decode("utf-8", errors="surrogateescape"), dialect)


def plan_or_run(name: str, dialect: str, journal: str | None) -> PlanFile | str:
    """Read the file `name`; where there is none, return the run whose name begins so.

    Raises:
        CommandError: there is neither, or the journal cannot be used.
    """
    try:
        return read_plan(name, dialect)
    except CommandError as error:
        if error.code != "unreadable-file":
            raise
        unreadable = str(error)
    ways = "Name a file, or -, or a run that `toolplan runs` lists."
    if name == "":
        raise CommandError("usage", "The name of a file or a run is empty.", ways)
    unknown = f"There is no run {name!r}."
    if (store := journal_at(user_journal(journal))) is not None:
        with closing(store):
            try:
                return store.find(name)
            except JournalError as error:
                if error.code != "unknown-run":
                    raise
                unknown = str(error)
    if Path(name).name != name or "." in name:  # written like a file
        raise CommandError("unreadable-file", unreadable, ways)
    raise CommandError("unknown-run", f"{unknown} {unreadable}", ways)


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        CommandError: it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError("unreadable-file", f"{path}: {file_fault(error)}.") from None


@contextmanager
def writing(name: str | Path) -> Generator[None]:
    """Report that the file `name` cannot be written.

    Raises:
        CommandError: the block raised an error of the system.
    """
    try:
        yield
    except OSError as error:
        place, reason = error.filename or name, file_fault(error)
        help_ = "Name a place that you may write to."
        raise CommandError("unwritable-file", f"{place}: {reason}.", help_) from None


def write_plan(name: str, text: str) -> None:
    """Replace the file `name` by one with `text`; write to standard output where that is `-`.

    The file is written beside it and renamed, so that it is never half written; its mode is kept.

    Raises:
        CommandError: it cannot be written.
    """
    if name == "-":
        sys.stdout.write(text)
        return
    path = Path(name).resolve()  # a link stays a link
    with writing(name):
        mode = stat.S_IMODE(path.stat().st_mode)
        write_whole(path, text.encode("utf-8", errors="surrogateescape"), mode=mode)


def print_diagnostics(
    console: Output, file: PlanFile, diagnostics: Sequence[Diagnostic], advice: str = ""
) -> None:
    """Print `diagnostics` with their places underlined, and count them.

    `advice` says what to do about errors with an auto-fix.
    """
    console.print(DiagnosticView(file.located(diagnostics), file.text, file.name, advice))
    if not _blocked(diagnostics):
        return
    name = dialect_of(file.text, file.dialect)
    other = known_dialect(name).parse(file.text, None, Limits())
    if name != file.dialect and other.plan is not None and not _blocked(other.diagnostics):
        console.print(f"It reads well as a plan in the dialect {name!r}.")


def _blocked(diagnostics: Sequence[Diagnostic]) -> bool:
    return any(each.blocks for each in diagnostics)


def parsed_whole(file: PlanFile, tools: Toolbox | None, option: str = "--dialect") -> Plan:
    """Return the plan in `file`, and print its problems.

    Raises:
        CommandError: it is not a whole plan in its dialect, which `option` names.
    """
    parsed = parse(file.text, file.dialect, tools)
    if parsed.diagnostics:
        print_diagnostics(err(), file, parsed.diagnostics)
    if parsed.plan is None or _blocked(parsed.diagnostics):
        raise CommandError(
            "unreadable-plan",
            f"{file.name} is not a complete plan in the dialect {file.dialect!r}.",
            f"Fix the errors above, or name its dialect: {option}.",
            diagnostics=[to_json(each) for each in parsed.diagnostics],
        )
    return parsed.plan


def plan_text(
    plan: Plan, dialect: str, tools: Toolbox | None = None, option: str = "--dialect"
) -> str:
    """Return `plan` as `dialect` writes it, with a final line break.

    Metadata is left out, with a note, where the dialect cannot express it: it does not run.

    Raises:
        CommandError: the dialect cannot express the plan.
    """
    try:
        text = to_text(plan, dialect, tools)
    except CannotExpress as error:
        found = [each for each in error.diagnostics if not each.pointer.startswith("/metadata")]
        if found:  # metadata is no obstacle, and often not the user's
            reasons = " ".join(each.message for each in found)
            raise CommandError(
                "cannot-express",
                f"The dialect {dialect!r} cannot express this plan: {reasons}",
                f"The dialect `toolplan` can: {option} toolplan.",
            ) from None
        text = to_text(replace(plan, metadata={}), dialect, tools)
        note(f"The dialect {dialect!r} has no metadata; the written plan omits it.")
    if known_dialect(dialect).json:
        text = harmless_json(text)
    return text if text.endswith("\n") else text + "\n"


def plan_document(
    plan: Plan, dialect: str, tools: Toolbox | None = None, option: str = "--dialect"
) -> str:
    """Return a plan for `--json`: a JSON dialect as it is, else text in JSON."""
    text = plan_text(plan, dialect, tools, option)
    if known_dialect(dialect).json:
        return text
    document = json.dumps({"dialect": dialect, "text": text}, indent=2, ensure_ascii=False)
    return harmless_json(document) + "\n"
