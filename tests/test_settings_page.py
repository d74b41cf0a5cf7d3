"""Each setting is documented, with its default, and what messages name is a setting."""

import re
from pathlib import Path

import pytest

from toolplan.app.settings import TABLES, VARIABLES, ModelSettings, source_tables
from toolplan.providers._endpoint import KEYED, Spec
from toolplan.providers._errors import key_setting

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/settings.md").read_text("utf-8")
SOURCES = [
    path.read_text("utf-8")
    for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("packages/*/src/**/*.py")]
]


@pytest.mark.parametrize("variable", VARIABLES)
def test_each_variable_has_a_row_with_its_default(variable: str) -> None:
    """A13."""
    (row,) = re.findall(rf"^\| `{variable}` \| (.+?) \|(.*)\|$", PAGE, re.MULTILINE)
    default = getattr(ModelSettings(), VARIABLES[variable])
    if isinstance(default, bool):
        assert str(default).lower() in row[1]
    elif isinstance(default, int | float):
        assert row[1].strip() == f"{default:g}" or float(row[1]) == default
    elif default and isinstance(default, str):
        assert default in row[1]


@pytest.mark.parametrize("table", [*TABLES, *source_tables()])
def test_each_table_is_documented(table: str) -> None:
    assert re.search(rf"^\| `\[{table}[\].]", PAGE, re.MULTILINE)


def test_each_variable_of_ours_is_documented() -> None:
    named = {name for text in SOURCES for name in re.findall(r"\bTOOLPLAN_[A-Z_]+[A-Z]\b", text)}
    assert named
    assert {name for name in named if f"`{name}`" not in PAGE} == set()


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("groq", "GROQ_API_KEY"),
        ("http://localhost:8080", 'TOOLPLAN_MODEL_KEYS=\'{"http://localhost:8080": "KEY"}\''),
        ("of_a_package", "TOOLPLAN_MODEL_KEYS="),
    ],
)
def test_a_missing_key_names_a_variable_that_is_documented(provider: str, expected: str) -> None:
    setting = key_setting(Spec("m", "openai", provider, "http://localhost:8080", "m", True))
    assert expected in setting
    assert f"`{expected.partition('=')[0]}`" in PAGE


def test_the_providers_with_a_variable_are_those_of_the_settings() -> None:
    of_settings = {
        name.removesuffix("_API_KEY").lower() for name in VARIABLES if "_API_KEY" in name
    }
    assert set(KEYED) == of_settings
