"""Runs that make no progress, clicks that were lost, and many tabs."""

import json
import re
import time
from typing import Any

import pytest
from playwright.sync_api import Page, Route

from packages.studio.tests.browser.conftest import Looks
from packages.studio.tests.browser.test_story import DOUBT
from packages.studio.tests.test_states import RUN_STATES, STEP_STATES
from toolplan_studio._states import STEP_NOTES, run_note, shown_step_state

pytestmark = pytest.mark.timeout(240)

TOOLS = "packages.studio.tests.browser.own_tools:TOOLS"
LONG: dict[str, Any] = {"steps": [{**DOUBT["steps"][0], "timeout_s": 3_600}]}


def test_a_run_whose_server_died_is_interrupted_and_is_not_live(looks: Looks) -> None:
    visit = looks(TOOLS)
    page = visit.enter()
    run = visit.run(LONG)
    line: Any = visit.call("GET", f"runs/{run}")
    given = {"kind": "approve", "digest": line["line"]["digest"]}
    visit.call("POST", f"runs/{run}/decisions", given)
    visit.go(f"#/runs/{run}")
    page.get_by_text("Live", exact=True).wait_for()
    visit.served.kill()
    visit.served.start()
    page.get_by_role("status").get_by_text("Interrupted").wait_for()
    assert page.get_by_text("Live", exact=True).count() == 0
    page.get_by_text("Resume the run to continue it").wait_for()
    page.get_by_role("button", name="Resume the run").wait_for()
    _shows(page, running=0)
    page.get_by_role("button", name=re.compile("^send send_note.*Interrupted")).wait_for()
    visit.go(f"#/compare/{run}/{visit.run(LONG)}")
    page.get_by_role("row", name="/state interrupted waiting").wait_for()
    page.get_by_role("row", name="/steps/send/state interrupted pending").wait_for()
    _shows(page, running=0)
    visit.go("#/runs?state=interrupted")
    page.get_by_role("listitem").get_by_text("Interrupted").wait_for()
    visit.go("#/runs?state=running")
    page.get_by_text("No run fits these filters.").wait_for()


def _shows(page: Page, *, running: int) -> None:
    """Check how many steps are drawn as running on the page."""
    signs = page.locator(".step-card .icon-running, .timeline .icon-running")
    assert signs.count() == running
    assert page.locator(".react-flow__edge.animated").count() == running // 2
    assert page.locator(".bar .state-running").count() == running // 2


def test_every_state_of_a_run_with_every_state_of_a_step(looks: Looks) -> None:
    visit = looks(TOOLS)
    page = visit.enter()
    names = dict(zip(STEP_STATES, [f"s{at}" for at in range(len(STEP_STATES))], strict=True))
    first = {"id": "first", "tool": "list_notes"}
    steps = [{"id": name, "tool": "list_notes", "after": ["first"]} for name in names.values()]
    run = visit.run({"steps": [first, *steps]})
    found: Any = visit.call("GET", f"runs/{run}")

    def answer(route: Route) -> None:
        route.fulfill(content_type="application/json", body=json.dumps(found))

    page.route(f"**/api/v1/runs/{run}", answer)
    for state in RUN_STATES:
        found["line"]["state"] = state
        found["note"] = run_note(state, None)
        for step, name in names.items():
            shown = shown_step_state(state, step)
            times = {"started_at": found["started_at"], "ended_at": None}
            found["steps"][name] |= {"state": shown, **times}
        visit.go(f"#/runs/{run}?tab=timeline")
        page.reload()  # a run that is over is not asked for again
        page.get_by_text(run_note(state, None), exact=True).wait_for()
        for step, name in names.items():
            shown = shown_step_state(state, step)
            words = shown.replace("_", " ").replace("waiting", "waits for approval")
            page.get_by_role(
                "button", name=re.compile(f"^{name} list_notes.*{words}", re.I)
            ).wait_for()
            row = page.get_by_role("row", name=re.compile(f"^{name} {words}", re.I))
            assert STEP_NOTES[shown] in row.inner_text()
        _shows(page, running=2 if state == "running" else 0)
    assert not visit.faults


def test_a_click_that_was_not_sent_says_so_and_counts_once(looks: Looks) -> None:
    visit = looks(TOOLS)
    page = visit.enter()
    run = visit.run(LONG)
    visit.go(f"#/approve/{run}")
    button = page.get_by_role("button", name="Approve all and run")
    button.wait_for()
    page.route("**/decisions", lambda route: route.abort(), times=1)
    button.click()
    page.get_by_role("alert").get_by_text("Not sent, or its answer was lost").wait_for()
    button.click()
    page.get_by_role("status").get_by_text("Running").wait_for()


def test_twelve_tabs_of_running_and_waiting_runs_stay_quick(looks: Looks) -> None:
    visit = looks(TOOLS)
    page = visit.enter()
    names = [visit.run(LONG) for _ in range(12)]
    for run in names[:6]:
        found: Any = visit.call("GET", f"runs/{run}")
        given = {"kind": "approve", "digest": found["line"]["digest"]}
        visit.call("POST", f"runs/{run}/decisions", given)
    root = page.url.partition("#")[0]
    tabs = [page.context.new_page() for _ in names]
    for tab, run in zip(tabs, names, strict=True):
        tab.goto(f"{root}#/runs/{run}")
        tab.get_by_role("heading", level=1).wait_for()
        tab.get_by_role("button", name="Cancel the run").wait_for()
    live = [tab.get_by_text("Live", exact=True).count() for tab in tabs]
    assert sum(live) == 1
    began = time.monotonic()
    tabs[-1].get_by_role("button", name="Cancel the run").click()
    tabs[-1].get_by_role("status").get_by_text("Cancelled").wait_for()
    print(f"A click in the last of 12 tabs: {time.monotonic() - began:.3f} s")
    tabs[live.index(1)].close()  # another tab follows it
    others = [tab for at, tab in enumerate(tabs[:6]) if at != live.index(1)]
    deadline = time.monotonic() + 30
    while not any(tab.get_by_text("Live", exact=True).count() for tab in others):
        assert time.monotonic() < deadline
        others[0].wait_for_timeout(100)
