"""Hooks of `mkdocs build`: the pages that are made of the program itself, and links to its code.

One page for each command holds what the command prints as its help. One page holds the public names
of the package. Links that lead out of `docs` lead to the repository.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from rich.console import Console

import toolplan
from toolplan.cli._commands import COMMANDS, commands, front_page

ROOT: Final = Path(__file__).resolve().parents[1]
_REPOSITORY: Final = "https://github.com/toolplan/toolplan/blob/main/"
_WIDTH: Final = 78
_LINK: Final = re.compile(r"\]\((?P<target>(?:\.\./)+[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
_TITLE: Final = re.compile(r"^# (?:\d+: )?(?P<title>.+)$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made of the program."""
    for name, text in generated_pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """List the decisions, and lead links to other files of the repository there."""
    here = page.file.src_uri
    if here == "decisions/README.md":
        markdown = f"{markdown}\n{''.join(_decisions(Path(config.docs_dir)))}"
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
        f"# Commands\n\n| command | what it does |\n|---|---|\n{rows}\n"
        f"```text\n{front_page(_WIDTH)}```\n"
    )
    pages = {"commands/index.md": index, "python.md": _python()}
    for name in COMMANDS:
        pages[f"commands/{name}.md"] = f"# toolplan {name}\n\n```text\n{_help(name)}\n```\n"
    return pages


def _help(command: str) -> str:
    file = io.StringIO()
    commands().help_print([command], console=Console(file=file, width=_WIDTH))
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


def _decisions(docs: Path) -> Iterator[str]:
    for path in sorted((docs / "decisions").glob("[0-9]*.md")):
        found = _TITLE.search(path.read_text("utf-8"))
        title = path.stem if found is None else found["title"]
        yield f"- [{path.stem[:4]}]({path.name}): {title}\n"
