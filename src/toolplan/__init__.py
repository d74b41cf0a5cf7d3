"""toolplan: a question becomes a typed plan of tool calls, checked before anything runs.

parse         text → Plan, and what is wrong with the text
check         Plan and tools → what is wrong with the plan
compile_plan  text and tools → ExecutionPlan, the one thing that engines take
run           ExecutionPlan and tools → Run
resume        a run that a journal keeps → its end
open          tools, a model, a journal → App: `ask`, `plan`, `check`, `run`, `resume`
open_journal  a place → the journal there, which `run`, `resume` and `open` take
"""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.resources import files
from typing import Final

from toolplan.base.shown import use_renderer


def _read_stub() -> dict[str, str]:
    """Return the home of each public name, as the stub beside this module imports it."""
    stub = ast.parse(files(__name__).joinpath("__init__.pyi").read_text("utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {name.name: str(node.module) for node in imports for name in node.names}


_HOMES: Final = _read_stub()


def _text_of(value: object) -> str:
    # the libraries that render are loaded by the first print
    text: str = import_module("toolplan.show.values").text_of(value)
    return text


use_renderer(_text_of)


def __getattr__(name: str) -> object:
    if name == "__all__":
        return sorted(_HOMES)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({"__all__", *_HOMES, *(name for name in globals() if name.startswith("__"))})
