"""Short forms of what the page holds out; `endurance` has the full ones."""

import pytest

from packages.studio.tests.browser.conftest import Looks
from packages.studio.tests.browser.endurance import OWN, kills, large_plan, many_events

pytestmark = pytest.mark.timeout(240)  # a browser and a server, on a machine that may be slow


def test_no_event_is_lost_and_none_comes_twice(looks: Looks) -> None:
    visit = looks(OWN)
    assert many_events(visit, 2)["events"] == 2_000
    assert not visit.faults


def test_the_page_goes_on_after_kills_in_the_middle_of_a_run(looks: Looks) -> None:
    visit = looks(OWN)
    assert kills(visit, 2)["states equal to the journal's"] == 2
    assert not visit.faults


def test_a_large_plan_is_shown(looks: Looks) -> None:
    visit = looks(OWN)
    large_plan(visit, 120)
    assert not visit.faults
