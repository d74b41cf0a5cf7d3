"""All that tools, models, plans and people may say, in every field of every answer of the API."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright import sync_api

from packages.studio.tests.browser.conftest import Looks, Visit
from packages.studio.tests.browser.hostile import HIDDEN, LONG, TEXTS, answer, events

pytestmark = pytest.mark.timeout(240)  # a browser and a server, on a machine that may be slow

_HIDDEN_PLACES = """pattern => {
    const hidden = new RegExp(pattern, 'u');
    const own = ['value', 'for', 'id', 'aria-controls', 'aria-labelledby', 'data-id', 'data-nodeid',
        'data-testid'];
    const found = [];
    const look = (text, place) => hidden.test(text) && found.push(place + text.slice(0, 80));
    const both = NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT;
    const walker = document.createTreeWalker(document, both);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        if (node.nodeType === Node.TEXT_NODE) {
            const { localName, className } = node.parentElement;
            look(node.data, `${localName} ${className}: `);
        }
        else {
            for (const { name, value } of node.attributes)
                if (!own.includes(name)) look(value, `${node.localName} ${name} `);
            if (node.localName === 'textarea') look(node.value, 'textarea ');
        }
    }
    return found;
}"""
_MADE = "main :is(img:not(.cm-widgetBuffer), iframe, script, style, base, meta, link, form[action])"
ALLOWED = ["approve", "refuse", "decide", "cancel", "resume", "replan"]


def _unhurt(visit: Visit, place: str) -> None:
    page = visit.page
    assert page.evaluate("window.hurt") is None, place
    links = page.eval_on_selector_all("a", "all => all.map(a => a.getAttribute('href'))")
    assert all(each.startswith("#") for each in links), place
    assert not page.query_selector(_MADE), place
    assert page.evaluate(_HIDDEN_PLACES, HIDDEN) == [], place
    assert not visit.foreign, place
    assert not visit.faults, place


def run_answer(status: str, texts: tuple[str, ...] = TEXTS, **fields: object) -> dict[str, Any]:
    """Return a run with `texts` in every field."""
    found = answer("RunOut", texts, allowed=ALLOWED, seq=0, calls=[])
    found["line"] = {**found["line"], "status": status, "digest": "0" * 64}
    for at, step in enumerate(found["steps"].values()):
        step["state"] = "in_doubt" if status == "in_doubt" and at % 8 == 0 else "failed"
        step["doubts"] = step["doubts"] if step["state"] == "in_doubt" else []
    over = status in ("succeeded", "failed", "cancelled")
    return {**found, "ended_at": 2.5 if over else None, **fields}


def serve(visit: Visit, texts: tuple[str, ...] = TEXTS) -> dict[str, Any]:
    """Answer all requests of the page with `texts` in every field; return what may be changed."""
    held: dict[str, Any] = {
        "runs/r": run_answer("waiting", texts),
        "runs/s": run_answer("succeeded", texts),
        "runs": answer("RunList", texts),
        "tools": answer("ToolList", texts),
        "about": answer("About", texts),
        "schema": {"$defs": {"step": {}}},
        "plans": answer("Proposed", texts, outcome="plan"),
    }
    held["tools"]["tools"] = [{**each, "can_try": True} for each in held["tools"]["tools"]]
    others: list[tuple[str, Callable[[], Any]]] = [
        (r"runs/\w+/steps/", lambda: answer("StepDetail", texts)),
        (r"runs/\w+/diff/", lambda: answer("RunDiff", texts)),
        (r"runs/\w+/decisions", lambda: answer("Decided", texts)),
        (r"tools/.*/try", lambda: answer("Tried", texts, error=None)),
        (r"plans/check", lambda: answer("CheckedPlan", texts)),
    ]

    def fulfil(route: sync_api.Route) -> None:
        path = route.request.url.partition("/api/v1/")[2].partition("?")[0]
        if path.endswith("/events"):
            body = "".join(events(texts)) if held["runs/r"]["ended_at"] is None else ""
            route.fulfill(body=body, content_type="text/event-stream")
        elif path == "plans/stream":
            checked = held["plans"]["checked"]
            nodes: list[Any] = checked["graph"]["nodes"][:20] if checked else []
            sent = [("step", each) for each in nodes] + [("plan", held["plans"])]
            body = "".join(f"event: {kind}\ndata: {json.dumps(each)}\n\n" for kind, each in sent)
            route.fulfill(body=body, content_type="text/event-stream")
        else:
            found = held.get(path) or next(
                make() for shape, make in others if re.match(shape, path)
            )
            route.fulfill(json=found)

    visit.page.route("**/api/v1/**", fulfil)
    return held


def _tabs(visit: Visit, place: str) -> None:
    """Look at each tab of the page."""
    for tab in visit.page.get_by_role("tablist").first.get_by_role("tab").all():
        tab.click()
        _unhurt(visit, f"{place}: {tab.inner_text()}")


def test_every_field_of_every_answer_is_text(looks: Looks) -> None:
    visit = looks()
    page = visit.enter()
    held = serve(visit)
    page.get_by_role("textbox", name="Question").fill(TEXTS[0])
    page.keyboard.press("Enter")
    page.get_by_role("tab", name="Understood").wait_for()
    _tabs(visit, "ask")
    visit.go(f"{page.url.partition('#')[2].partition('?')[0]}?tab=step&step=__proto__")
    page.get_by_role("heading", name="__proto__").wait_for()
    _unhurt(visit, "ask: a step")
    for outcome in ("clarification", "refusal"):
        held["plans"] = {**answer("Proposed", outcome=outcome), "checked": None}
        if outcome == "refusal":
            held["plans"]["clarification"] = None
        page.get_by_role("textbox", name="Question").fill(outcome)
        page.keyboard.press("Enter")
        page.get_by_role("heading", name=re.compile("not clear|no plan")).wait_for()
        _unhurt(visit, outcome)
    for place in ("#/runs", "#/compare/r/s", "#/tools"):
        visit.go(place)
        page.get_by_role("heading", level=1).wait_for()
        page.wait_for_load_state("networkidle")
        _unhurt(visit, place)
    page.get_by_role("link", name=re.compile("^constructor")).click()
    page.locator("form select").select_option("constructor")
    page.get_by_role("button", name="Call").click()
    page.get_by_role("tab").first.wait_for()
    _unhurt(visit, "a call")


def test_every_field_of_a_run_is_text(looks: Looks) -> None:
    visit = looks()
    page = visit.enter()
    held = serve(visit)
    for status in ("waiting", "running", "in_doubt", "failed", "succeeded"):
        held["runs/r"] = run_answer(status)
        visit.go("#/runs")
        page.get_by_role("heading", name="Runs").wait_for()
        visit.go("#/runs/r?tab=timeline")
        page.get_by_role("tab", name="Timeline").wait_for()
        page.locator(".timeline tbody tr").first.wait_for()
        _unhurt(visit, f"run: {status}")
    _tabs(visit, "run")
    for text in ("__proto__", "constructor", TEXTS[1]):
        page.evaluate(
            "text => { location.hash = '#/runs/r?tab=step&step=' + encodeURIComponent(text) }", text
        )
        page.get_by_role("heading", name=text, exact=True).first.wait_for()
        page.wait_for_load_state("networkidle")
        _unhurt(visit, f"run: step {text}")
    page.get_by_role("button", name="Plan again").click()
    page.get_by_role("heading", name="A new plan").wait_for()
    _unhurt(visit, "planned again")


def _approved(texts: tuple[str, ...]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return effects, and calls that wait, with `texts` as their exact values."""
    effects = answer("RunOut", texts)["effects"]
    calls = answer("RunOut", texts)["calls"]
    return effects, calls


@pytest.mark.parametrize("texts", [TEXTS, (LONG,)], ids=["60 texts", "a long one"])
def test_nothing_hides_what_is_approved(looks: Looks, texts: tuple[str, ...]) -> None:
    """Whatever the server says, it stands on the page whole, and a hidden character as its code."""
    visit = looks()
    page = visit.enter()
    held = serve(visit, texts)
    effects, calls = _approved(texts)
    for fields in ({"effects": effects}, {"calls": calls, "allowed": ["allow", "refuse"]}):
        held["runs/r"] = run_answer("waiting", texts, **fields)
        visit.go("#/runs")
        page.get_by_role("heading", name="Runs").wait_for()
        visit.go("#/approve/r")
        page.locator(".effect").first.wait_for()
        _unhurt(visit, "approve")
        shown = page.locator(".effect").evaluate_all("all => all.map(each => each.textContent)")
        assert len(shown) == len(texts)
        for text, found in zip(texts, shown, strict=True):
            assert _seen(text) in found
        assert page.get_by_role(
            "button", name=re.compile("^(Approve all|Allow)")
        ).first.is_visible()


def _seen(text: str) -> str:
    """Return `text` as it stands on the page: a hidden character as its code."""
    return re.sub(HIDDEN, lambda found: f"U+{ord(found[0]):04X}", text)


def test_a_long_text_in_every_field_is_no_trouble(looks: Looks) -> None:
    visit = looks()
    page = visit.enter()
    held = serve(visit, (LONG,))
    for status in ("in_doubt", "succeeded"):
        held["runs/r"] = run_answer(status, (LONG,))
        visit.go("#/runs")
        page.get_by_role("heading", name="Runs").wait_for()
        visit.go("#/runs/r")
        page.get_by_role("tab", name="Timeline").wait_for()
        _unhurt(visit, status)
    for place in ("#/tools", "#/compare/r/s"):
        visit.go(place)
        page.get_by_role("heading", level=1).wait_for()
        page.wait_for_load_state("networkidle")
        _unhurt(visit, place)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
