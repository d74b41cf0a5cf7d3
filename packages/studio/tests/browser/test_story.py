"""The whole story in a real browser, by keyboard alone."""

import re
from typing import Any

import pytest
from playwright import sync_api

from packages.studio.tests.browser.conftest import Looks, Visit

pytestmark = pytest.mark.timeout(240)  # a browser and a server, on a machine that may be slow

EFFECT = "Set the status of shipment S20261121-001 to delivered"
DOUBT = {
    "steps": [
        {
            "id": "send", "tool": "send_note", "timeout_s": 0.3,
            "args": {"to": "a@b.example", "text": "Hello"},
        }
    ]
}  # fmt: skip


def _tab_to(visit: Visit, name: str, role: str = "button") -> None:
    """Press Tab until the element with this name has the focus."""
    wanted = visit.page.get_by_role(role, name=re.compile(f"^{re.escape(name)}"))  # type: ignore[arg-type]
    wanted.first.wait_for()
    for _ in range(120):
        if wanted.first.evaluate("each => each === document.activeElement"):
            return
        visit.page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {name!r}")


def test_ask_plan_approve_run_answer_by_keyboard(looks: Looks) -> None:
    visit = looks()
    page = visit.enter()
    keys = page.keyboard
    _tab_to(visit, "Question", "textbox")
    keys.type(EFFECT)
    keys.press("Enter")
    page.get_by_text("The plan can run.").wait_for()
    # a step of the graph is chosen, and its arguments are shown
    _tab_to(visit, "call shipments_update")
    keys.press("Enter")
    page.wait_for_url(re.compile("step=call"))
    _tab_to(visit, "Review and approve")
    keys.press("Enter")
    page.get_by_role("heading", name="Approve").wait_for()
    shown = page.get_by_role("region", name="call", exact=True)
    assert '"S20261121-001"' in shown.inner_text()
    assert '"delivered"' in shown.inner_text()
    _tab_to(visit, "Approve all and run")
    keys.press("Enter")
    page.get_by_role("status").get_by_text("Succeeded").wait_for()
    page.get_by_text("S20261121-001").first.wait_for()
    assert not visit.foreign
    assert not visit.faults


def test_a_question_without_effects_runs_and_answers(looks: Looks) -> None:
    visit = looks()
    page = visit.enter()
    page.get_by_role("textbox", name="Question").fill("Contaminants per type")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Run this plan").click()
    page.get_by_role("status").get_by_text("Succeeded").wait_for()
    page.get_by_role("columnheader", name="type").wait_for()
    page.get_by_role("tab", name="Chart").click()
    page.locator("canvas").wait_for()
    page.locator(".u-over").hover()
    page.get_by_text(re.compile(r"^type \w+: count \d+$")).wait_for()
    # the same twice, and what differs
    page.go_back()
    page.get_by_role("button", name="Run this plan").click()
    page.get_by_role("status").get_by_text("Succeeded").wait_for()
    visit.go("#/runs")
    page.get_by_role("checkbox").nth(1).wait_for()
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.reload()  # what was chosen stands in the address
    page.get_by_role("link", name="Compare two runs").click()
    page.get_by_text("The plans are equal.").wait_for()
    assert not visit.foreign
    assert not visit.faults


def test_a_reload_loses_no_question_no_edit_and_no_reason(looks: Looks) -> None:
    visit = looks()
    page = visit.enter()
    question = page.get_by_role("textbox", name="Question")
    question.fill("Half a quest")
    page.reload()
    assert question.input_value() == "Half a quest"
    question.fill(EFFECT)
    page.keyboard.press("Enter")
    page.get_by_role("tab", name="Plan as text").click()
    editor = page.get_by_role("textbox", name=re.compile("The plan as JSON"))
    editor.click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("!")
    page.get_by_text("This is not JSON yet").first.wait_for()
    assert page.get_by_role("button", name="Review and approve").is_disabled()
    page.reload()
    page.get_by_text("This is not JSON yet").first.wait_for()
    assert editor.inner_text().startswith("!")
    page.get_by_role("button", name="Go back to the planned one").click()
    page.get_by_role("button", name="Review and approve").click()
    page.get_by_role("button", name="Refuse").click()
    reason = page.get_by_role("textbox", name=re.compile("^Reason"))
    reason.fill("Not this one")
    page.reload()
    assert reason.input_value() == "Not this one"
    page.get_by_role("button", name="Refuse this plan").click()
    page.get_by_text("Not this one").first.wait_for()
    page.get_by_role("button", name="Approve all and run").wait_for(state="detached")
    # what the planner makes of the reason is shown, on both pages of the run, and is kept
    run = page.url.rpartition("/")[2]
    for place in ("", f"#/runs/{run}"):
        if place:
            visit.go(place)
        page.get_by_role("heading", name="A new plan").wait_for()
        page.reload()
        page.get_by_role("heading", name="A new plan").wait_for()
    page.get_by_text("The plans are equal.").wait_for()
    page.get_by_role("link", name="Open the plan").click()
    page.get_by_text("The plan can run.").wait_for()
    assert page.get_by_role("textbox", name="Question").input_value() == EFFECT
    assert not visit.faults


def test_an_edit_is_checked_and_marked_at_its_step(looks: Looks) -> None:
    visit = looks()
    page = visit.enter()
    page.get_by_role("textbox", name="Question").fill(EFFECT)
    page.keyboard.press("Enter")
    page.get_by_text("The plan can run.").wait_for()
    page.get_by_role("tab", name="Plan as text").click()
    page.get_by_role("textbox", name=re.compile("The plan as JSON")).click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text('{"steps": [{"id": "a", "tool": "shipments_lst", "args": {"x": 1}}]}')
    page.get_by_text(re.compile("must be solved")).first.wait_for()
    page.get_by_role("tab", name="Problems").click()
    page.get_by_text("shipments_lst").first.wait_for()
    page.get_by_role("button", name=re.compile("^a shipments_")).wait_for()


def test_a_call_in_doubt_is_decided_by_keyboard(looks: Looks) -> None:
    visit = looks("packages.studio.tests.browser.own_tools:TOOLS")
    page = visit.enter()
    run = visit.run(DOUBT)
    visit.go(f"#/approve/{run}")
    _tab_to(visit, "Approve all and run")
    page.keyboard.press("Enter")
    page.get_by_role("region", name="Calls in doubt").wait_for()
    assert "a@b.example" in page.get_by_role("region", name="Calls in doubt").inner_text()
    _tab_to(visit, "It took effect", "radio")
    page.keyboard.press("Space")
    page.reload()
    assert page.get_by_role("radio", name=re.compile("^It took effect")).is_checked()
    field = page.get_by_role("textbox", name=re.compile("Result of the call"))
    field.wait_for()
    _tab_to(visit, "Result of the call", "textbox")
    page.keyboard.press("Control+a")
    page.keyboard.type('{"to": "a@b.example", "text": "Hello"}')
    _tab_to(visit, "Decide")
    page.keyboard.press("Enter")
    page.get_by_role("status").get_by_text("Succeeded").wait_for()
    assert not visit.faults


NOTES = {
    "steps": [
        {"id": "people", "tool": "list_people"},
        {
            "id": "notes", "tool": "note_person", "for_each": "${people}",
            "args": {"to": "${item}", "text": "Hello"},
        },
    ]
}  # fmt: skip


def test_calls_are_approved_with_their_values_by_keyboard(looks: Looks) -> None:
    visit = looks("packages.studio.tests.browser.own_tools:TOOLS")
    page = visit.enter()
    run = visit.run(NOTES, values=True)
    visit.go(f"#/approve/{run}")
    step = page.get_by_role("region", name="notes", exact=True)
    step.wait_for()
    shown = step.inner_text()
    assert '"ann@b.example"' in shown
    assert '"p\\u0430ypal\\u202e@b.example"' in shown
    assert '"<script>window.hurt = 1</script>"' in shown
    assert "CYRILLIC SMALL LETTER A" in shown
    assert "list_people" in shown  # where the values come from
    _tab_to(visit, "Refuse them")
    page.keyboard.press("Enter")
    reason = page.get_by_role("textbox", name=re.compile("^Reason"))
    _tab_to(visit, "Reason", "textbox")
    page.keyboard.type("Not yet")
    page.reload()
    assert reason.input_value() == "Not yet"
    _tab_to(visit, "Allow all 3 calls")
    page.keyboard.press("Enter")
    page.get_by_role("status").get_by_text("Succeeded").wait_for()
    page.get_by_text("ann@b.example: Hello").first.wait_for()
    refused = visit.run(NOTES, values=True)
    visit.go(f"#/approve/{refused}")
    _tab_to(visit, "Refuse them")
    page.keyboard.press("Enter")
    _tab_to(visit, "Reason", "textbox")
    page.keyboard.type("To nobody")
    _tab_to(visit, "Refuse these calls")
    page.keyboard.press("Enter")
    page.get_by_role("status").get_by_text("Failed").wait_for()
    page.get_by_text("To nobody").first.wait_for()
    assert page.evaluate("window.hurt") is None
    assert not visit.faults


def test_the_page_catches_up_when_the_server_is_killed_and_started_again(looks: Looks) -> None:
    visit = looks("packages.studio.tests.browser.own_tools:TOOLS")
    page = visit.enter()
    run = visit.run(DOUBT)
    visit.go(f"#/runs/{run}")
    page.get_by_role("status").get_by_text("Waits for approval").wait_for()
    for _ in range(2):
        visit.served.kill()
        page.get_by_text("Connecting again").wait_for()
        visit.served.start()
        page.get_by_text("Looked at every 2 s", exact=True).wait_for()
    page.get_by_role("link", name="Review and approve").click()
    page.get_by_role("button", name="Approve all and run").click()
    page.get_by_role("region", name="Calls in doubt").wait_for()


def test_an_answer_that_is_older_than_the_events_loses_none_of_them(looks: Looks) -> None:
    """A slow answer of the server arrives after events that it does not contain."""
    visit = looks("packages.studio.tests.browser.own_tools:TOOLS")
    page = visit.enter()
    steps = [{**DOUBT["steps"][0], "timeout_s": 3_600}]
    run = visit.run({"steps": steps})
    old: Any = visit.call("GET", f"runs/{run}")
    old["line"]["active"] = True  # an answer like none before
    asked: list[sync_api.Route] = []

    visit.go(f"#/runs/{run}")
    status = page.get_by_role("status")
    status.get_by_text("Waits for approval").wait_for()
    given = {"kind": "approve", "digest": old["line"]["digest"]}
    visit.call("POST", f"runs/{run}/decisions", given)
    status.get_by_text("Running").wait_for()
    page.get_by_role("button", name=re.compile("^send send_note.*Running")).wait_for()
    page.get_by_text("Live", exact=True).wait_for()
    page.route(f"**/api/v1/runs/{run}", lambda route: asked.append(route), times=1)
    while not asked:
        page.wait_for_timeout(50)
    # the events that are missing come again, and so the page asks again
    with page.expect_request(lambda request: request.url.endswith(run)):
        asked[0].fulfill(json=old)
    page.get_by_role("button", name=re.compile("^send send_note.*Running")).wait_for()
    status.get_by_text("Running").wait_for()
    assert not visit.faults


def test_the_graph_comes_when_its_file_comes_late(looks: Looks) -> None:
    """The server was away when the page asked for it, and for the others that come later."""
    visit = looks()
    page = visit.page
    missed: list[str] = []

    def miss_first(route: sync_api.Route) -> None:
        name = route.request.url.rpartition("/")[2].partition("-")[0]
        if name == "index" or name in missed:
            route.continue_()
        else:
            missed.append(name)
            route.abort()

    page.route(re.compile(r"/assets/.*\.js$"), miss_first)
    visit.enter()
    page.get_by_role("textbox", name="Question").fill(EFFECT)
    page.keyboard.press("Enter")
    page.get_by_role("button", name=re.compile("^call shipments_update")).wait_for()
    page.get_by_role("tab", name="Plan as text").click()
    page.get_by_role("textbox", name=re.compile("The plan as JSON")).wait_for()
    assert sorted(missed) == ["PlanEditor", "PlanGraph", "layout.worker"]
    assert not visit.faults


def test_large_numbers_and_names_of_objects_reach_a_tool_and_come_back(looks: Looks) -> None:
    visit = looks("packages.studio.tests.browser.own_tools:TOOLS")
    page = visit.enter()
    visit.go("#/tools/echo")
    for name, value in (("__proto__", "9007199254740993"), ("constructor", "1.0")):
        page.get_by_label(re.compile(f"^{name}")).fill(value)
    page.reload()
    page.get_by_role("button", name="Call").click()
    page.get_by_role("tab", name="JSON").wait_for()
    shown = page.get_by_role("tabpanel").inner_text()
    assert "9007199254740993" in shown
    assert "1.0" in shown
    assert "__proto__" in shown
    assert not visit.faults


def test_a_browser_without_a_session_signs_in_and_stays_where_it_was(looks: Looks) -> None:
    visit = looks()
    link = visit.enter().url
    page = visit.page
    page.context.clear_cookies()
    page.goto("about:blank")
    page.goto(link.partition("#")[0] + "#/runs")
    page.get_by_role("button", name="Sign in").first.wait_for()
    page.get_by_label("Token, or the address with it").first.fill("not-the-token")
    page.get_by_role("button", name="Sign in").first.click()
    page.get_by_text("The token is not valid").first.wait_for()
    assert page.url.endswith("#/runs")
