"""Modules, and patterns, that are loaded and compiled when they are used."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest

import toolplan
from tests.modules import every_module
from toolplan import lazy
from toolplan.lazy import lazy_module, lazy_pattern

SOURCE = Path(toolplan.__file__).parent


def test_a_module_is_loaded_when_something_in_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "this_is_rare", raising=False)
    module = lazy_module("colorsys")
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    assert "colorsys" not in sys.modules
    assert module.rgb_to_hsv(0, 0, 0) == (0, 0, 0)
    assert "colorsys" in sys.modules
    with pytest.raises(AttributeError, match="nothing"):
        _ = module.nothing


def test_libraries_can_be_loaded_before_the_path_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in lazy.LIBRARIES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    lazy.load_libraries()
    assert set(lazy.LIBRARIES) <= set(sys.modules)


def test_each_library_that_is_loaded_late_is_known() -> None:
    """Modules that are loaded late themselves may declare some, too."""
    texts = [path.read_text("utf-8") for path in SOURCE.rglob("*.py")]
    named = {name for text in texts for name in re.findall(r'= lazy_module\("([^"]+)"\)', text)}
    assert {name for name in named if not name.startswith("toolplan.")} == set(lazy.LIBRARIES)


def test_a_pattern_does_what_a_compiled_one_does() -> None:
    pattern, compiled = lazy_pattern("(?P<a>[a-z])1", re.IGNORECASE), re.compile("([a-z])1", re.I)
    assert [m[0] for m in pattern.finditer("A1 b2 c1")] == ["A1", "c1"]
    assert pattern.sub("-", "A1 b2") == compiled.sub("-", "A1 b2")
    assert (pattern.flags, pattern.groups) == (compiled.flags, compiled.groups)
    assert pattern.groupindex == {"a": 1}
    assert pattern.pattern == "(?P<a>[a-z])1"
    assert not hasattr(pattern, "scanner")


def patterns_in(value: object) -> Iterator[re.Pattern[str]]:
    """Yield the patterns that a name of a module stands for."""
    if type(value).__name__ == "_LazyPattern":
        yield cast("re.Pattern[str]", value)
    elif isinstance(value, tuple | list):
        for each in cast("Sequence[object]", value):
            yield from patterns_in(each)


def test_each_pattern_of_a_module_can_be_compiled() -> None:
    values = [value for module in every_module() for value in vars(module).values()]
    found = [each.pattern for value in values for each in patterns_in(value)]
    assert len(found) > 250
