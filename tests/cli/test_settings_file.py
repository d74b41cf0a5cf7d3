"""`toolplan.toml`: what nobody reads is refused, for its labels and limits keep people safe."""

from pathlib import Path

import pytest

from tests.cli.calls import Call
from toolplan.app.settings import NAMES, read_settings

TABLES = """
[effects]
no_tool_of_these = "write"
[limits]
concurrency = 8
[limits.tools]
no_tool_of_these = 1
[limits.sources]
nowhere = 1
[openapi.shop]
base_url = "https://shop.example"
"""


@pytest.mark.parametrize(
    ("text", "key", "meant"),
    [
        ('[effekts]\nsend = "write"', "effekts", "Did you mean 'effects'?"),
        ("[limit]\nconcurrency = 1", "limit", "Did you mean 'limits'?"),
        (
            "concurrency = 1",
            "concurrency",
            "Known settings: [answer], [effects], [limits], [openapi], [retention],",
        ),
        ("planner_temprature = 1", "planner_temprature", "Did you mean 'planner_temperature'"),
        ("OPENAI_API_KEY = 'k'", "OPENAI_API_KEY", "Did you mean 'openai_api_key'"),
    ],
)
def test_what_nobody_reads_is_a_usage_error(
    home: Path, call: Call, text: str, key: str, meant: str
) -> None:
    (home / "toolplan.toml").write_text(text, "utf-8")
    said = call("tools", code=2)
    assert f"toolplan.toml: there is no setting '{key}'." in said.err
    words = " ".join(said.err.split())
    assert meant in words
    for name in ("[effects]", "[limits]", "[openapi]", *NAMES):
        assert name in words


def test_every_table_and_setting_that_is_read_is_known(home: Path, call: Call) -> None:
    (home / "toolplan.toml").write_text(TABLES, "utf-8")
    assert call("tools").code == 0
    read_settings(home)
    for name in NAMES:
        (home / "toolplan.toml").write_text(f'{name} = "x"\n{TABLES}', "utf-8")
        assert call("tools").code == 0, name  # whether it is of use is reported where it is read
