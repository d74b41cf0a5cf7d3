"""The size gate: what it lets pass, and what not."""

from pathlib import Path

import pytest

from tools import gate


def module(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def lines(count: int) -> str:
    return "\n".join(f"    a{number} = {number}" for number in range(count))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_class_counts_with_its_bases_wherever_they_are(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module(folder, "src/room/_base.py", f"class Base:\n{lines(250)}\n")
    module(folder, "src/room/__init__.py", "from room._base import Base\n")
    module(folder, "src/other.py", f"from room import Base\n\nclass Whole(Base):\n{lines(250)}\n")
    assert gate.main(["src"]) == 1
    assert (
        "Whole has 502 lines, 1 base classes included; the limit is 400" in capsys.readouterr().out
    )


def test_classes_within_the_limits_pass(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module(folder, "src/a.py", f"class Base:\n{lines(150)}\n\nclass One(Base):\n{lines(150)}\n")
    module(folder, "src/b.py", f"import json\n\nclass Other(json.JSONDecoder):\n{lines(300)}\n")
    assert gate.main(["src"]) == 0
    assert capsys.readouterr().out == ""


def test_a_cycle_of_bases_ends(folder: Path) -> None:
    module(folder, "src/a.py", "class A(B):\n    pass\n\nclass B(A):\n    pass\n")
    assert gate.main(["src"]) == 0


def test_large_modules_long_functions_and_hidden_imports_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module(folder, "src/large.py", "x = 1\n" * 501)
    module(folder, "src/long.py", "def f():\n" + "    x = 1\n" * 61)
    module(folder, "src/hidden.py", "def f():\n    import toolplan.plan.model\n")
    assert gate.main(["src"]) == 1
    out = capsys.readouterr().out
    assert "large.py: 501 lines" in out
    assert "long.py:1: f has 62 lines" in out
    assert "hidden.py:1: f imports our own code inside itself" in out


def test_a_docstring_begins_with_a_verb(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = 'def f():\n    """Return it."""\n\n@property\ndef g(self):\n    """The name."""\n'
    module(folder, "src/good.py", f'{good}\n@rule()\ndef h():\n    """A step is wrong."""\n')
    module(folder, "tests/test_it.py", 'def f():\n    """Whether it is so."""\n')
    assert gate.main(["src", "tests"]) == 0
    for text in ("Whether it is so.", "`name` is the name.", "L10: it fails.", "the name"):
        module(folder, "src/bad.py", f'def f():\n    """{text}"""\n')
        assert gate.main(["src"]) == 1
        assert "the docstring of f begins with no verb" in capsys.readouterr().out
