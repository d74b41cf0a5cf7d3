"""What tools, models and plans say is text, wherever it stands."""

import json

import pytest

from packages.studio.tests.browser.conftest import Looks, Visit
from packages.studio.tests.browser.own_tools import TEXTS

pytestmark = pytest.mark.timeout(240)  # a browser and a server, on a machine that may be slow

OWN = "packages.studio.tests.browser.own_tools:TOOLS"


def _unhurt(visit: Visit, *, found: bool = True) -> None:
    assert visit.page.evaluate("window.hurt") is None
    links = visit.page.eval_on_selector_all("a", "all => all.map(a => a.getAttribute('href'))")
    assert all(each.startswith("#") for each in links)
    assert not visit.page.query_selector("main img, main iframe, main script, main style")
    assert not visit.foreign
    # that nothing is there is no fault of the page
    assert not [each for each in visit.faults if found or "status of 4" not in each]


def test_hostile_text_is_shown_and_does_nothing(looks: Looks) -> None:
    visit = looks(OWN)
    page = visit.enter()
    text = "\n".join(TEXTS).replace("\0", "")  # no plan has one
    args = {"to": text.replace("${", "$${"), "text": "p\u0430ypal \u202etxt.exe"}
    notes = {"query": text[:5_000]}
    steps = [
        {"id": "notes", "tool": "list_notes", "thought": text[:5_000]},
        {"id": "broken", "tool": "break_it", "args": {"text": "x"}, "on_error": "continue"},
        {"id": "__proto__", "tool": "list_notes"},
        {"id": "delete", "tool": "delete_note", "args": args, "after": ["notes", "broken"]},
    ]
    run = visit.run({"steps": steps, "metadata": notes})
    visit.go(f"#/approve/{run}")
    effect = page.get_by_role("region", name="delete", exact=True)
    effect.wait_for()
    shown = effect.inner_text()
    assert "<script>window.hurt = 1</script>" in shown
    assert "\\u202e" in shown
    assert "p\\u0430ypal" in shown
    assert "\u202e" not in shown
    assert "Cyrillic" in shown
    assert "x" * 2_000 in shown  # nothing of what is approved is cut
    _unhurt(visit)
    page.get_by_role("button", name="Approve all and run").click()
    page.get_by_role("status").get_by_text("Succeeded").wait_for()
    for tab in ("Timeline", "Plan as text", "Result"):
        page.get_by_role("tab", name=tab, exact=True).click()
        _unhurt(visit)
    for step in ("notes", "broken", "__proto__", "delete"):
        visit.go(f"#/runs/{run}?tab=step&step={step}")
        page.get_by_role("heading", name=step, exact=True).wait_for()
        _unhurt(visit)
    for place in ("#/runs", f"#/compare/{run}/{run}", "#/tools", "#/tools/list_notes"):
        visit.go(place)
        page.get_by_role("heading", level=1).wait_for()
        page.wait_for_load_state("networkidle")
        _unhurt(visit)
    page.get_by_role("button", name="Call").click()
    page.get_by_role("table").last.wait_for()
    _unhurt(visit)


def test_a_value_of_a_megabyte_is_shown_whole_and_exact(looks: Looks) -> None:
    visit = looks(OWN)
    page = visit.enter()
    number = 2**60 + 1
    long = "\u202ee\u0301<b>" * 30_000 + "x" * 850_000
    args = {"to": f"{number}", "text": [number, long, 1.0]}
    step = {"id": "any", "tool": "take_any", "args": args}
    run = visit.run({"steps": [step]})
    visit.go(f"#/approve/{run}")
    value = page.get_by_role("region", name="any", exact=True).get_by_role("cell")
    value.first.wait_for()
    shown = value.evaluate_all("all => all.map(each => each.textContent)")
    (text,) = [each for each in shown if each.startswith("[")]
    assert json.loads(text) == [number, long, 1.0]
    assert str(number) in text  # a browser would round it
    assert text.endswith(", 1.0]")
    page.get_by_role("button", name="Approve all and run").click()
    page.get_by_role("status").get_by_text("Succeeded").wait_for()
    _unhurt(visit)


def test_a_hostile_question_is_text(looks: Looks) -> None:
    visit = looks(OWN)
    page = visit.enter()
    for text in TEXTS[:12]:
        page.get_by_role("textbox", name="Question").fill(text)
        page.keyboard.press("Enter")
        page.get_by_text("Planning").wait_for(state="detached")
        _unhurt(visit)


def test_a_hostile_address_is_a_page_that_says_so(looks: Looks) -> None:
    visit = looks()
    page = visit.enter()
    for place in ("#/runs/<script>", "#/runs/..%2F..%2Fabout", "#/%E0%A4%A", "#/tools/__proto__"):
        visit.go(place)
        page.get_by_role("heading").or_(page.get_by_role("alert")).first.wait_for()
        _unhurt(visit, found=False)
