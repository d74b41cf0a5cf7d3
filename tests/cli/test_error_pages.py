"""`toolplan explain` shows the pages of errors."""

from __future__ import annotations

import pytest

from tests.cli.calls import Call
from toolplan.error_pages import ERROR_PAGES


@pytest.mark.parametrize("code", ["bad-plan", "usage", "approval-required", "unknown-run"])
def test_explain_knows_the_codes_of_errors(call: Call, code: str) -> None:
    said = call("explain", code)
    assert said.code == 0
    assert "How to fix:" in said.out
    assert code in call("explain").out
    assert call("explain", code, "--json").json["page"] == ERROR_PAGES[code]
