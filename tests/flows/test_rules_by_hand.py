"""Each rule about flows alone: what falls if it is weakened."""

from __future__ import annotations

from tests.flows.mails import step, verdicts


def test_what_stands_in_the_plan_is_allowed() -> None:
    assert set(verdicts(step("s", "send", to="bob", body="b")).values()) == {"allow"}
