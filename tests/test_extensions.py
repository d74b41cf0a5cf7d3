"""Entry points of installed packages: as the standard library finds them, and bad ones named."""

import sys
from importlib import metadata
from pathlib import Path

import pytest

from toolplan.base.extensions import ExtensionError, Extensions, entry_points

GROUP = "toolplan.samples"
GROUPS = ("toolplan.dialects", "toolplan.rules", "toolplan.sources", "toolplan.planners")


def install(folder: Path, package: str, entries: str, module: str = "OBJECT = 'it'\n") -> None:
    """Put a package with these entry points into a folder, as an installer does."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entries, "utf-8")
    (folder / f"{package}_objects.py").write_text(module, "utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return tmp_path


@pytest.mark.parametrize("group", GROUPS)
def test_the_built_in_ones_are_those_that_the_standard_library_finds(group: str) -> None:
    found = {
        (each.name, each.value) for each in entry_points(tuple(sys.path)) if each.group == group
    }
    assert found == {(each.name, each.value) for each in metadata.entry_points(group=group)}
    assert found


def test_another_package_adds_to_ours(folder: Path) -> None:
    install(
        folder,
        "their_package",
        "[console_scripts]\nother = x:y\n\n[toolplan.samples]\n# a comment\n"
        "b = their_package_objects:OBJECT\n"
        "a=their_package_objects:OBJECT.upper\n",
    )
    offered = Extensions[object](GROUP)
    assert list(offered) == ["a", "b"]
    assert offered["b"] == "it"
    assert "c" not in offered
    with pytest.raises(KeyError):
        offered["c"]
    theirs = {(each.name, each.value) for each in metadata.entry_points(group=GROUP)}
    assert theirs == {
        ("a", "their_package_objects:OBJECT.upper"),
        ("b", "their_package_objects:OBJECT"),
    }


def test_the_first_package_of_a_name_on_the_path_counts(tmp_path: Path) -> None:
    install(tmp_path / "one", "same", "[toolplan.samples]\na = one:A\n")
    install(tmp_path / "two", "Same", "[toolplan.samples]\na = two:A\n")
    found = entry_points((str(tmp_path / "one"), str(tmp_path / "none"), str(tmp_path / "two")))
    assert [each.value for each in found] == ["one:A"]


def test_two_packages_with_one_name_are_named(folder: Path) -> None:
    install(folder, "first", f"[{GROUP}]\nsame = first_objects:OBJECT\n")
    install(folder, "second", f"[{GROUP}]\nsame = second_objects:OBJECT\n")
    with pytest.raises(ExtensionError, match="'same' is offered by first and second") as raised:
        Extensions[object](GROUP)["same"]
    assert raised.value.code == "bad-extension"
    assert raised.value.help == "Uninstall one of them."


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("no_such_module_here:X", "ModuleNotFoundError"),
        ("broken_objects:NOTHING", "AttributeError"),
        ("broken_objects:OBJECT.no_such", "AttributeError"),
    ],
)
def test_one_that_cannot_load_names_its_package(folder: Path, value: str, reason: str) -> None:
    install(folder, "broken", f"[{GROUP}]\nbad = {value}\n")
    with pytest.raises(ExtensionError, match=rf"'bad' of the package broken .* {reason}") as raised:
        Extensions[object](GROUP)["bad"]
    assert raised.value.help == "Upgrade broken, or uninstall it."


def test_a_file_that_is_no_text_offers_nothing(folder: Path) -> None:
    install(folder, "binary", "")
    (folder / "binary-1.0.dist-info" / "entry_points.txt").write_bytes(
        b"\xff\xfe[toolplan.samples]"
    )
    assert list(Extensions[object](GROUP)) == []
