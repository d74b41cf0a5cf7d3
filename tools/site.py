"""Hooks of `mkdocs build`: the pages that are made of the program itself, and links to its code.

One page for each command holds what the command prints as its help. One page holds the public names
of the package. Links that lead out of `docs` lead to the repository.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from rich.console import Console

import toolplan
import toolplan_offline
from toolplan.cli._commands import COMMANDS, commands

ROOT: Final = Path(__file__).resolve().parents[1]
_REPOSITORY: Final = "https://github.com/toolplan/toolplan/blob/main/"
_WIDTH: Final = 78
_LINK: Final = re.compile(r"\]\((?P<target>(?:\.\./)+[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
_PARTS: Final = {
    "N": "things", "N1": "thing", "NP": "things", "AN": "all things", "ID": "identity",
    "V": "value", "VN": "kind of thing", "F": "field", "FS": "fields", "C": "word before a value",
    "U": "unit", "NUM": "number", "WHEN": "time", "UNK": "name", "M": "condition",
    "A": "condition in front", "CMP": "bound", "G": "group", "BY": "groups", "AGG": "figure",
    "MEAS": "measure", "Q": "question", "S": "questions", "E": "follow-up", "DONE": "done deed",
    "DID": "verb of a date", "R": "role", "RN": "role", "WHO": "people", "REPORT": "report",
    "RATE": "rate", "VR": "word of a rate",
}  # fmt: skip
_ASKING: Final = """# What can be asked without a model

All words of a question have to be read by one of these forms; else it is asked back, with the
words that are not understood or the pieces that do not go together. What stands in ( ) can be left
out. The tools give the things, fields, values and units, by their schemas and [hints](hints.md);
times are those of [dates](dates.md). This page is made of the grammar itself. Not read, on purpose:
comparisons of periods, trends, "more than once", "only those of which all", differences,
evaluations. A model reads more: [models](models.md).
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made of the program."""
    for name, text in generated_pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to other files of the repository there."""
    here = page.file.src_uri
    folder = (Path(config.docs_dir) / here).parent
    docs = Path(config.docs_dir).resolve()

    def led(found: re.Match[str]) -> str:
        target = (folder / found["target"]).resolve()
        if target.is_relative_to(docs):
            return found[0]
        return f"]({_REPOSITORY}{target.relative_to(ROOT).as_posix()}{found['anchor'] or ''})"

    return _LINK.sub(led, markdown)


def generated_pages() -> dict[str, str]:
    """Return the text of each page that is made of the program, by its path."""
    rows = "".join(f"| [`{name}`]({name}.md) | {COMMANDS[name]} |\n" for name in sorted(COMMANDS))
    index = (
        f"# Commands\n\n| command | what it does |\n|---|---|\n{rows}\n```text\n{_help()}\n```\n"
    )
    pages = {"commands/index.md": index, "python.md": _python(), "asking.md": asking_page()}
    for name in COMMANDS:
        pages[f"commands/{name}.md"] = f"# toolplan {name}\n\n```text\n{_help(name)}\n```\n"
    return pages


def asking_page() -> str:
    """Return the page of what can be asked without a model, made of the grammar file."""
    text = (Path(toolplan_offline.__file__).parent / "grammar.txt").read_text("utf-8")
    classes = re.findall(r"^(@\w+)(?:=\S+)?: ([^,\n]+)", text, re.MULTILINE)
    words: dict[str, str] = dict(reversed(classes))  # of each class, its first word

    def said(part: str) -> str:
        either = part.strip("()").split("|")
        shown = " or ".join(words.get(p, f"*{_PARTS.get(p, p.lower())}*") for p in either)
        return f"({shown})" if part.startswith("(") else shown

    lines = [_ASKING]
    for line in text.splitlines():
        if line.startswith("# --- "):
            lines.append(f"\n## {line[6:].capitalize()}\n\n")
        elif found := re.fullmatch(r"(@\w+)(?:=(\S+?))?: (.+)", line):
            lines.append(f"- `{found[1][1:]}`{f' ({found[2]})' if found[2] else ''}: {found[3]}\n")
        elif found := re.fullmatch(r"(\w+) = (.+?) : .+", line):
            form = " ".join(map(said, found[2].split()))
            lines.append(f"- *{_PARTS.get(found[1], found[1].lower())}* is: {form}\n")
    return "".join(lines).replace("|", "\\|").replace("<", "&lt;")


def _help(*command: str) -> str:
    file = io.StringIO()
    commands().help_print([*command], console=Console(file=file, width=_WIDTH))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()).strip()


def _python() -> str:
    lines = ["# Python\n\nThe public names of `toolplan`. Others may change without notice.\n\n"]
    for name in sorted(toolplan.__all__, key=str.lower):
        found = getattr(toolplan, name)
        module = getattr(found, "__module__", None)
        qualified = getattr(found, "__qualname__", None)
        if isinstance(module, str) and isinstance(qualified, str):
            lines.append(f"::: {module}.{qualified}\n\n")
    return "".join(lines)
