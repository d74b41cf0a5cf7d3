"""The public API: names, homes, and what importing costs."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import toolplan

SOURCE = Path(toolplan.__file__).parent


def loaded_by(statement: str, names: set[str]) -> set[str]:
    """Return those of `names` that a fresh interpreter has loaded after `statement`."""
    code = f"{statement}\nimport sys\nprint(*{{m.partition('.')[0] for m in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split()) & names


def test_all_is_sorted_and_every_name_is_there() -> None:
    assert toolplan.__all__ == sorted(toolplan.__all__)
    for name in toolplan.__all__:
        assert getattr(toolplan, name) is not None
        assert name in dir(toolplan)


def test_every_name_is_at_its_home() -> None:
    homes = vars(toolplan)["_HOMES"]
    assert sorted(homes) == toolplan.__all__
    for name, home in homes.items():
        assert getattr(import_module(home), name) is getattr(toolplan, name)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    assert not hasattr(toolplan, "nothing_of_the_kind")


def test_importing_loads_no_library() -> None:
    heavy = {"pydantic", "rich", "cyclopts", "duckdb", "sqlite3", "jsonschema_rs"}
    assert loaded_by("import toolplan", heavy) == set()


def test_checking_loads_neither_terminal_nor_database() -> None:
    heavy = {"rich", "cyclopts", "duckdb", "sqlite3", "pydantic"}
    assert loaded_by("from toolplan import compile_plan", heavy) == set()


def test_a_command_loads_only_its_own_module() -> None:
    code = (
        "import sys\nfrom toolplan.cli import main\n"
        "try:\n    main(['explain', 'cycle'])\nexcept SystemExit:\n    pass\n"
        "print(*(m for m in sys.modules if m.startswith(('toolplan.cli.', 'toolplan_demo'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = set(done.stdout.splitlines()[-1].split())
    assert "toolplan.cli.schema" in modules
    assert not modules & {"toolplan.cli.ask", "toolplan.cli.show", "toolplan_demo"}
