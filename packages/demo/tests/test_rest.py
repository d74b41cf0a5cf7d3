"""The demo's REST API over real HTTP on loopback, by hand and as tools."""

import asyncio
import http.client
import json
import re
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from queue import Queue
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.demo.tests.conftest import TODAY, call, listed, node
from packages.demo.tests.test_demo_filters import CASES
from packages.demo.tests.test_demo_writes import FACILITY
from toolplan import App, AskResult, Toolbox, ToolError, compile_plan, run
from toolplan.mcp_server.http.serving import serve_http
from toolplan.plan.path import Json
from toolplan.policy.approval import ApprovalRequired, approve
from toolplan_demo import demo_tools
from toolplan_demo.rest import (
    DOCUMENT_PATH,
    MAX_BODY,
    MAX_HEAD,
    ROUTES,
    application,
    openapi_document,
)
from toolplan_offline import OfflinePlanner
from toolplan_openapi import openapi_toolbox

ROWS = 731


class Said(NamedTuple):
    """A response: its status, its JSON, and its headers."""

    status: int
    value: Json
    headers: http.client.HTTPMessage

    @property
    def data(self) -> Json:
        assert node(self.value)["success"] is True
        return node(self.value)["data"]

    @property
    def message(self) -> str:
        assert node(self.value).keys() == {"success", "error"}
        assert node(self.value)["success"] is False
        return str(node(node(self.value)["error"])["message"])


class Api(NamedTuple):
    """The API on a port of this machine."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, **headers: str) -> Said:
        return self.ask("GET", path, None, headers)

    def send(self, method: str, path: str, body: Json) -> Said:
        return self.ask(method, path, json.dumps(body), {"Content-Type": "application/json"})

    def ask(
        self, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None
    ) -> Said:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, None if body is None else body.encode(), headers or {})
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        return Said(response.status, json.loads(text) if text else None, response.headers)

    def tools(self) -> Toolbox:
        return openapi_toolbox(self.get(DOCUMENT_PATH).value, base_url=self.url)


@contextmanager
def serving(tools: Toolbox, *hosts: str) -> Generator[Api]:
    urls = Queue[str]()
    served = application(tools, allow_hosts=hosts)
    loop = asyncio.new_event_loop()
    task = loop.create_task(
        serve_http(served, "127.0.0.1", 0, urls.put, most_head=MAX_HEAD), name="demo"
    )

    def run() -> None:
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(task)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield Api(int(urls.get(timeout=30).rpartition(":")[2]))
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
        loop.close()


@pytest.fixture(scope="module")
def same_tools() -> Toolbox:
    return demo_tools(TODAY, rows=ROWS)


@pytest.fixture(scope="module")
def api(same_tools: Toolbox) -> Iterator[Api]:
    """The API over `same_tools`, for the tests that only read."""
    with serving(same_tools) as served:
        yield served


@pytest.fixture(scope="module")
def over_http(api: Api) -> Toolbox:
    return api.tools()


@pytest.fixture
def own_api(writable: Toolbox) -> Iterator[Api]:
    """An API of its own, for a test that writes."""
    with serving(writable) as served:
        yield served


def ask(tools: Toolbox, question: str) -> AskResult:
    app = App(tools, OfflinePlanner())
    return asyncio.run(app.ask(question, today=TODAY, approve=approve))


# The document


def test_the_document_makes_the_same_tools(over_http: Toolbox, same_tools: Toolbox) -> None:
    assert list(over_http) == [route.tool for route in ROUTES]
    assert set(over_http) == {name for name in same_tools if name != "sql"}
    for name, tool in over_http.items():
        same = same_tools[name]
        assert (tool.raw_input, tool.description) == (same.raw_input, same.description)
        assert (tool.effects, tool.may_repeat) == (same.effects, same.may_repeat)
        assert tool.aliases == same.aliases
        assert tool.unusable is None
        assert tool.output is not None
        assert same.output is not None
        assert tool.output.is_valid(same.output.example())


def test_the_document_shares_the_schemas_of_things(same_tools: Toolbox) -> None:
    schemas = node(node(openapi_document(same_tools)["components"])["schemas"])
    assert {"Error", "Shipment", "Facility", "Contaminant", "Inspection"} <= schemas.keys()


# Reading


@pytest.mark.parametrize(("name", "arguments"), [(case[0], case[1]) for case in CASES])
def test_every_filter_gives_what_the_tool_gives(
    over_http: Toolbox, same_tools: Toolbox, name: str, arguments: dict[str, Json]
) -> None:
    """F003-7, C-07, C-36."""
    assert call(over_http, name, arguments) == call(same_tools, name, arguments)


@pytest.mark.parametrize(
    "path", ["shipments", "facilities", "contaminants-detected", "inspections"]
)
def test_every_list_honours_its_limit(api: Api, path: str) -> None:
    """C-36."""
    assert len(listed(api.get(f"/api/{path}?limit=2").data)) == 2
    assert api.get(f"/api/{path}?limit=0").status == 400


def test_an_empty_list_of_ids_means_none_of_them(over_http: Toolbox, same_tools: Toolbox) -> None:
    none: dict[str, Json] = {"facility_id": []}
    assert call(over_http, "shipments_list", none) == {"data": [], "count": 0}
    assert call(same_tools, "shipments_list", none) == {"data": [], "count": 0}


def test_many_ids_fit_into_a_request(over_http: Toolbox) -> None:
    ids: list[Json] = [f"S20251012-{number:06d}" for number in range(5_000)]
    assert call(over_http, "shipments_list", {"ids": ids}) == {"data": [], "count": 0}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/api/shipments?colour=red", "There is no parameter 'colour'. There are: date_from, "),
        ("/api/shipments?status=lost", "status: "),
        ("/api/shipments?date_from=yesterday", "date_from: "),
        ("/api/shipments?date_from=2025-02-30", "date_from: "),
        ("/api/shipments?limit=ten", "limit: It is a string, not an integer."),
        ("/api/shipments?limit=1.5", "limit: "),
        ("/api/shipments?has_contaminants=maybe", "has_contaminants: It is a string, not a bool"),
        ("/api/shipments?limit=1&limit=2", "The parameter 'limit' is given twice."),
        ("/api/shipments?waste_type=%ff", "The query is not UTF-8 text."),
        ("/api/facilities/F1?x=1", "There is no parameter 'x'. There are: none."),
        ("/api/facilities/F1/activity?days=0", "days: "),
        ("/api/analytics/risk-trends?days=3&date_from=2025-01-01", "'days' and 'date_from' both"),
        ("/api/analytics/risk-trends?date_from=2025-03-01&date_to=2025-02-01", "The period begins"),
    ],
)
def test_what_is_not_known_is_refused_and_never_ignored(api: Api, path: str, message: str) -> None:
    """C-36."""
    said = api.get(path)
    assert said.status == 400
    assert said.message.startswith(message)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/api/shipments/S1", "Shipment 'S1' not found."),
        ("/api/facilities/F999", "Facility 'F999' not found."),
        ("/api/facilities/F999/activity", "Facility 'F999' not found."),
        ("/api/shipments/it's/contaminants", 'Shipment "it\'s" not found.'),
        ("/api/contaminants-detected/C1", "Contaminant 'C1' not found."),
        ("/api/nothing", "There is nothing at this path."),
        ("/", "There is nothing at this path."),
        ("/api/shipments/../facilities", "There is nothing at this path."),
    ],
)
def test_what_is_not_there_is_404(api: Api, path: str, message: str) -> None:
    said = api.get(path)
    assert (said.status, said.message) == (404, message)


def test_other_methods_are_refused(api: Api) -> None:
    said = api.ask("DELETE", "/api/shipments")
    assert (said.status, said.message) == (405, "The method is not allowed here.")
    assert set(str(said.headers["Allow"]).split(", ")) == {"GET", "HEAD", "POST"}
    assert api.ask("HEAD", "/api/shipments?limit=1").status == 200


@given(text=st.text(max_size=12))
def test_any_text_in_a_path_arrives_as_it_is_or_is_not_sent(over_http: Toolbox, text: str) -> None:
    """S28: what the service reads is what the plan says, after all that lies between."""
    with pytest.raises(ToolError) as raised:
        call(over_http, "facilities_get", {"id": text})
    reported = str(raised.value)
    if reported.startswith("The argument"):
        assert reported.startswith("The argument 'id' cannot be sent: ")
        assert not text or text in (".", "..") or re.search(r"[/\\\x00-\x1f\x7f%]", text)
    else:
        said = " ".join(f"Facility {text!r} not found.".split())
        assert reported == f"The service answered 404: {said}"


@given(text=st.text(min_size=1, max_size=12))
def test_any_text_in_a_query_arrives_as_it_is(over_http: Toolbox, text: str) -> None:
    nothing: Json = {"data": [], "count": 0}
    assert call(over_http, "facilities_list", {"location": text}) == nothing
    assert call(over_http, "shipments_list", {"ids": [text, text]}) == nothing


# Who may ask


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("127.0.0.1:9999", 200),
        ("[::1]:80", 200),
        ("LOCALHOST", 200),
        ("evil.example", 421),
        ("localhost.", 421),
        ("localhost:80:80", 421),
        ("user@localhost", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost@evil.example", 421),
        ("", 421),
        ("[", 421),
    ],
)
def test_the_host_is_checked(api: Api, host: str, status: int) -> None:
    assert api.get("/api/facilities", Host=host).status == status


def test_pages_of_other_sites_are_refused(api: Api) -> None:
    local = ("http://demo.own:80", "http://localhost:3000", "http://127.0.0.1")
    for origin in (*local, "https://evil.example", "null"):
        assert api.get("/api/facilities", Origin=origin).status == 403
    assert api.get("/api/facilities", Origin=api.url).status == 200


def test_names_that_the_user_allows_are_answered(same_tools: Toolbox) -> None:
    with serving(same_tools, "demo.example") as api:
        assert api.get("/api/facilities", Host="demo.example").status == 200
        assert api.get("/api/facilities", Host="evil.example").status == 421


# Writing


def test_a_shipment_is_made_read_and_changed(own_api: Api) -> None:
    made = own_api.send(
        "POST", "/api/shipments", {"facility_id": "F1", "weight_kg": 1200, "carrier": "EcoTrans"}
    )
    assert made.status == 201
    identity = node(made.data)["id"]
    assert own_api.get(f"/api/shipments/{identity}").data == made.data
    changed = own_api.send("PUT", f"/api/shipments/{identity}", {"status": "delivered"})
    assert changed.status == 200
    assert changed.data == {**node(made.data), "status": "delivered"}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "message"),
    [
        ("POST", "/api/shipments", {"weight_kg": 1}, 400, "The required 'facility_id' is missing."),
        ("POST", "/api/shipments", {"facility_id": "F1", "weight_kg": 0}, 400, "weight_kg: "),
        ("POST", "/api/shipments", {"facility_id": "F1", "weight_kg": 1, "id": "S1"}, 400, ""),
        ("POST", "/api/shipments", {"facility_id": "F999", "weight_kg": 1}, 409, "Facility 'F999"),
        ("PUT", "/api/shipments/S1", {"status": "delivered"}, 404, "Shipment 'S1' not found."),
        ("PUT", "/api/facilities/F1", {}, 400, "There is nothing to change."),
        ("PUT", "/api/facilities/F1", {"id": "F2"}, 400, "'id' stands in the path"),
        ("PUT", "/api/facilities/F1", {"type": "zoo"}, 400, "type: "),
        ("POST", "/api/shipments", [], 400, "The body must be an object."),
    ],
)
def test_what_cannot_be_written_is_refused(
    api: Api, method: str, path: str, body: Json, status: int, message: str
) -> None:
    said = api.send(method, path, body)
    assert said.status == status
    assert said.message.startswith(message)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ("{}", "text/plain", 415),
        ("a=1", "application/x-www-form-urlencoded", 415),
        ("{", "application/json", 400),
        ("NaN", "application/json", 400),
        ("[" * 100_000, "application/json", 400),
        ('"' + "x" * MAX_BODY + '"', "application/json", 413),
    ],
)
def test_unreadable_bodies_are_refused(api: Api, body: str, kind: str, status: int) -> None:
    assert api.ask("POST", "/api/shipments", body, {"Content-Type": kind}).status == status


# As tools


QUESTIONS = (
    "Get contaminated shipments from last week",
    "Show facilities in Berlin",
    "Get shipments to facilities in Hannover",
    "Contamination rate in the last 30 days",
    "Get inspections of contaminated shipments from this week",
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_has_the_same_plan_and_the_same_answer_as_in_process(
    over_http: Toolbox, same_tools: Toolbox, question: str
) -> None:
    """Issue 6: the demo's REST API run end to end."""
    outside, inside = ask(over_http, question), ask(same_tools, question)
    assert outside.succeeded
    assert outside.plan is not None
    assert inside.plan is not None
    assert outside.plan.plan.steps == inside.plan.plan.steps
    assert outside.run is not None
    assert inside.run is not None
    outputs = {name: step.output for name, step in outside.run.steps.items()}
    assert outputs == {name: step.output for name, step in inside.run.steps.items()}
    assert outside.answer == inside.answer


def test_many_calls_at_once_give_what_they_give_in_process(
    over_http: Toolbox, same_tools: Toolbox
) -> None:
    plan = {
        "toolplan": 1,
        "steps": [
            {"id": "all", "tool": "shipments_list", "args": {"limit": 200}},
            {
                "id": "each",
                "tool": "shipments_get_with_contaminants",
                "for_each": "${all.data[*].id}",
                "args": {"id": "${item}"},
            },
        ],
    }
    outputs: list[Json] = []
    for tools in (over_http, same_tools):
        compiled = compile_plan(json.dumps(plan), tools=tools)
        assert compiled.plan is not None, compiled.diagnostics
        ended = asyncio.run(run(compiled.plan, tools))
        outputs.append(ended.steps["each"].output)
    assert outputs[0] == outputs[1]
    assert len(listed(outputs[0])) == 200


def test_a_plan_with_effects_needs_an_approval_and_writes_once(own_api: Api) -> None:
    tools = own_api.tools()
    plan = {
        "toolplan": 1,
        "steps": [
            {"id": "made", "tool": "facilities_create", "args": FACILITY},
            {"id": "got", "tool": "facilities_get", "args": {"id": "${made.data.id}"}},
        ],
    }
    compiled = compile_plan(json.dumps(plan), tools=tools)
    assert compiled.plan is not None, compiled.diagnostics
    with pytest.raises(ApprovalRequired):
        asyncio.run(run(compiled.plan, tools))
    assert own_api.get("/api/facilities?location=Kiel").data == []
    assert asyncio.run(run(compiled.plan, tools, approval=approve(compiled.plan))).succeeded
    assert len(listed(own_api.get("/api/facilities?location=Kiel").data)) == 1
