"""axe-core finds nothing on any page, light and dark, wide and narrow."""

import re

import pytest

from packages.studio.tests.browser.conftest import ROOT, Looks, Visit
from packages.studio.tests.browser.endurance import OWN
from packages.studio.tests.browser.hostile import answer
from packages.studio.tests.browser.test_hostile_answers import run_answer, serve
from packages.studio.tests.browser.test_story import DOUBT, NOTES

pytestmark = pytest.mark.timeout(240)  # a browser and a server, on a machine that may be slow

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
_RUN = """async () => {
    const found = await axe.run(document);
    return found.violations.map(each => each.id + ': ' + each.nodes
        .map(node => node.html.slice(0, 160) + ' ' + node.failureSummary).join(' | '));
}"""


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: make page")
@pytest.mark.parametrize(("dark", "width"), [(False, 1280), (True, 1280), (True, 360)])
def test_every_page_is_accessible(looks: Looks, *, dark: bool, width: int) -> None:
    visit = looks(dark=dark, width=width)
    page = visit.enter()
    _no_violation(visit, "start")
    page.get_by_role("textbox", name="Question").fill(
        "Set the status of shipment S20261121-001 to delivered"
    )
    page.keyboard.press("Enter")
    page.get_by_text("The plan can run.").wait_for()
    page.locator(".step-card").wait_for()
    for tab in ("Understood", "Step", "Plan as text", "Problems", "Forecast"):
        page.get_by_role("tab", name=tab).click()
        _no_violation(visit, tab)
    page.get_by_role("button", name="Review and approve").click()
    page.get_by_role("button", name="Refuse").click()
    _no_violation(visit, "approve")
    page.get_by_role("button", name="Approve all and run").click()
    page.get_by_role("status").get_by_text("Succeeded").wait_for()
    for tab in ("Timeline", "Step", "Plan as text", "Result"):
        page.get_by_role("tab", name=tab, exact=True).click()
        _no_violation(visit, f"run: {tab}")
    run = page.url.partition("#/runs/")[2].partition("?")[0]
    for place in ("#/runs", f"#/compare/{run}/{run}", "#/tools/facilities_list", "#/runs/none"):
        visit.go(place)
        page.wait_for_load_state("networkidle")
        _no_violation(visit, place)


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: make page")
@pytest.mark.parametrize("dark", [False, True])
def test_calls_that_wait_and_calls_in_doubt_are_accessible(looks: Looks, *, dark: bool) -> None:
    visit = looks(OWN, dark=dark, width=360)
    page = visit.enter()
    run = visit.run(NOTES, values=True)
    visit.go(f"#/approve/{run}")
    page.get_by_role("region", name="notes", exact=True).wait_for()
    page.get_by_role("button", name="Refuse them").click()
    _no_violation(visit, "values")
    run = visit.run(DOUBT)
    visit.go(f"#/approve/{run}")
    page.get_by_role("button", name="Approve all and run").click()
    page.get_by_role("region", name="Calls in doubt").wait_for()
    _no_violation(visit, "doubt")


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: make page")
@pytest.mark.parametrize("dark", [False, True])
def test_every_state_is_accessible(looks: Looks, *, dark: bool) -> None:
    """What is seldom seen, as the server would say it: each part of each answer is filled."""
    words = ("Some words", "Other words")
    visit = looks(dark=dark)
    page = visit.enter()
    held = serve(visit, words)
    for outcome in ("plan", "clarification", "refusal"):
        held["plans"] = answer("Proposed", words, outcome=outcome)
        if outcome != "plan":
            held["plans"]["checked"] = None
        if outcome != "clarification":
            held["plans"]["clarification"] = None
        page.get_by_role("textbox", name="Question").fill(outcome)
        page.keyboard.press("Enter")
        if outcome == "plan":
            page.get_by_role("tab", name="Understood").wait_for()
        else:
            head = "not clear" if outcome == "clarification" else "no plan"
            page.get_by_role("heading", name=re.compile(head)).wait_for()
        # a button that is enabled in the middle of a look has the colours of both states
        page.get_by_role("button", name="Plan", exact=True, disabled=False).wait_for()
        _no_violation(visit, outcome)
    for status in ("waiting", "running", "in_doubt", "failed", "cancelled", "succeeded"):
        held["runs/r"] = run_answer(status, words)
        visit.go("#/runs")
        page.get_by_role("heading", name="Runs").wait_for()
        visit.go("#/runs/r?tab=timeline")
        page.locator(".timeline tbody tr").first.wait_for()
        _no_violation(visit, f"run: {status}")
    page.get_by_role("button", name="Plan again").click()
    page.get_by_role("heading", name="A new plan").wait_for()
    _no_violation(visit, "planned again")
    for place in ("#/runs", "#/compare/r/s", "#/tools/Some%20words"):
        visit.go(place)
        page.get_by_role("heading", level=1).wait_for()
        page.wait_for_load_state("networkidle")
        _no_violation(visit, place)


def _no_violation(visit: Visit, place: str) -> None:
    page = visit.page
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate(_RUN)
    assert not found, f"{place}: {found}"
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0, f"{place} is {wide} px wider than the window"
