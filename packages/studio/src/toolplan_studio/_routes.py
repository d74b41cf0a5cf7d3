"""The API, as its OpenAPI document describes it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from toolplan.base.threads import in_thread
from toolplan.events import Event, Failure
from toolplan.plan.canonical import json_schema
from toolplan.storage.journal import Store, record_fields
from toolplan_studio import _run_wire as run_wire
from toolplan_studio import _wire as wire
from toolplan_studio._active import ActiveRuns
from toolplan_studio._errors import PROBLEM, Refused
from toolplan_studio._runs import Filter, run_list, run_view, step_detail
from toolplan_studio._session import COOKIE, Sessions
from toolplan_studio._studio import Studio

PREFIX: Final = "/api/v1"
_WAIT_S: Final = 0.5


def _studio(request: Request) -> Studio:
    return request.app.state.studio


def _user(request: Request) -> str:
    return request.app.state.sessions.user(request.headers)


TheStudio = Annotated[Studio, Depends(_studio)]
User = Annotated[str, Depends(_user)]
RunName = Annotated[str, Path(min_length=1, max_length=200)]

_PROBLEM: Final[dict[int | str, dict[str, Any]]] = {
    "default": {
        "description": "The request was refused.",
        "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}


def _stream(description: str, **events: str) -> dict[int | str, dict[str, Any]]:
    """Describe a stream of server-sent events by the models of their data."""
    models = {name: {"$ref": f"#/components/schemas/{model}"} for name, model in events.items()}
    content = {"text/event-stream": {"x-events": models}}
    return {200: {"description": description, "content": content}}


def _check_session(request: Request) -> None:
    if request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise Refused("foreign-site", "Pages of other sites may not use the studio.")
    sessions: Sessions = request.app.state.sessions
    sessions.check(request.cookies.get(COOKIE), request.headers.get("authorization"))


entrance = APIRouter(prefix=PREFIX, responses=_PROBLEM)
"""Routes that are open without a session."""
router = APIRouter(prefix=PREFIX, responses=_PROBLEM, dependencies=[Depends(_check_session)])


@entrance.post("/session", status_code=204)
async def enter(given: wire.Session, request: Request) -> Response:
    """Exchange the one-time token of the printed address for a cookie."""
    sessions: Sessions = request.app.state.sessions
    response = Response(status_code=204)
    sessions.enter(given.token, response, is_https=request.url.scheme == "https")
    return response


@router.delete("/session", status_code=204)
async def leave() -> Response:
    """Take the cookie from this browser."""
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return response


@router.get("/about")
async def about(studio: TheStudio, user: User) -> wire.About:
    """Return what is served, and who decides."""
    return await studio.about(user)


@router.get("/schema")
async def schema(studio: TheStudio) -> dict[str, Any]:
    """Return the JSON Schema of plans with these tools."""
    return json_schema(studio.app.tools, studio.app.limits)


@router.post("/plans")
async def ask(given: wire.Question, studio: TheStudio) -> wire.Proposed:
    """Make a plan for a question; nothing runs."""
    return await studio.ask(given)


@router.post(
    "/plans/stream",
    response_class=EventSourceResponse,
    responses=_stream(
        "`step`: a NodeOut. At the end `plan`: a Proposed, or `problem`.",
        step="NodeOut",
        plan="Proposed",
        problem="Problem",
    ),
)
async def ask_streamed(given: wire.Question, studio: TheStudio) -> AsyncIterator[ServerSentEvent]:
    """Make a plan, and send its steps while it is written; nothing runs."""
    async for event in studio.ask_streamed(given):
        yield event


@router.post("/plans/check")
async def check(given: wire.PlanText, studio: TheStudio) -> wire.CheckedPlan:
    """Check a plan as it was edited."""
    return await in_thread(studio.check, given.text, given.dialect)


@router.post("/plans/diff")
async def compare(given: wire.PlanPair, studio: TheStudio) -> wire.Difference:
    """Compare two plans."""
    return await in_thread(studio.compare, given.before, given.after)


@router.post("/runs", status_code=201)
async def start(given: run_wire.RunGiven, studio: TheStudio, user: User) -> run_wire.RunLine:
    """Run a plan, if it is the one that was shown; one with effects waits for its approval."""
    return await studio.start(given, user)


@router.get("/runs")
async def runs(
    studio: TheStudio,
    state: run_wire.RunState | None = None,
    tool: Annotated[str, Query(max_length=200)] = "",
    day: Annotated[str, Query(pattern="^([0-9]{4}-[0-9]{2}-[0-9]{2})?$")] = "",
    text: Annotated[str, Query(max_length=200)] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    after: Annotated[str, Query(max_length=300)] = "",
) -> run_wire.RunList:
    """Return runs, the newest first, of this state, tool, day (YYYY-MM-DD) and text."""
    only = Filter(state or "", tool, day, text)
    return await in_thread(run_list, studio.app, studio.active, only, limit, after)


@router.get("/runs/{run}")
async def run(run: RunName, studio: TheStudio) -> run_wire.RunOut:
    """Return a run with its plan, its steps and its answer."""
    return await in_thread(run_view, studio.app, run, studio.active)


@router.get("/runs/{run}/steps/{step}")
async def step(
    run: RunName,
    step: Annotated[str, Path(max_length=200)],
    studio: TheStudio,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> run_wire.StepDetail:
    """Return a step with its whole output, and 200 of its items from `offset` on."""
    return await in_thread(step_detail, studio.app, studio.active, run, step, offset)


async def _known(run: RunName, studio: TheStudio) -> str:
    """Return the name of a run; where there is none the response is an error and no stream."""
    return (await in_thread(studio.app.needed_journal().entry, run)).run


@router.get(
    "/runs/{run}/events",
    response_class=EventSourceResponse,
    responses=_stream(
        "`event`: an EventOut, with its position as id; `progress`: without.", event="EventOut"
    ),
)
async def events(
    run: Annotated[str, Depends(_known)],
    studio: TheStudio,
    start: Annotated[int, Query(ge=0, le=10**9)] = 0,
    last_event_id: Annotated[str, Header(max_length=20)] = "",
) -> AsyncIterator[ServerSentEvent]:
    """Send the events of a run from `start` on, or after `Last-Event-ID`, then those to come."""
    seen = last_event_id.isascii() and last_event_id.isdecimal()
    at = int(last_event_id) + 1 if seen else start
    async for event in run_events(run, at, studio.app.needed_journal(), studio.active):
        yield event


@router.post("/runs/{run}/decisions")
async def decide(
    run: RunName, given: run_wire.DecisionGiven, studio: TheStudio, user: User
) -> run_wire.Decided:
    """Decide about a run: approve, refuse, decide calls in doubt, cancel, resume, replan."""
    return await studio.decide(run, given, user)


@router.get("/runs/{run}/diff/{other}")
async def compare_runs(run: RunName, other: RunName, studio: TheStudio) -> run_wire.RunDiff:
    """Compare two runs."""
    return await studio.compare_runs(run, other)


@router.get("/tools")
async def tools(studio: TheStudio) -> wire.ToolList:
    """Return the tools, with what makes them hard to plan with."""
    return await in_thread(studio.tools)


@router.post("/tools/{name}/try")
async def try_tool(
    name: Annotated[str, Path(max_length=200)], given: wire.TryGiven, studio: TheStudio
) -> wire.Tried:
    """Call a tool that only reads."""
    return await studio.try_tool(name, given.args)


def _text(seq: int, event: Event) -> str:
    kind, recorded = record_fields(event)
    fields: dict[str, Any] = {**recorded, "seq": seq, "kind": kind}
    if fields.get("failure") is not None:
        fields["failure"] = dict(zip(Failure.__struct_fields__, fields["failure"], strict=True))
    shown = run_wire.EventOut.model_validate(fields)
    return shown.model_dump_json(exclude_none=True)


async def run_events(
    run: str, start: int, journal: Store, active: ActiveRuns
) -> AsyncGenerator[ServerSentEvent]:
    """Yield the events of `run` from position `start` on, as long as the client listens.

    Progress that tools report is not in the journal: it comes without an id while it is new.
    """
    at, seen = start, 0
    while True:
        for event in await in_thread(journal.tail, run, at):
            yield ServerSentEvent(raw_data=_text(at, event), event="event", id=str(at))
            at += 1
        running = active.get(run)
        if running is not None:
            news, seen = running.progress_since(seen)
            for event in news:
                yield ServerSentEvent(raw_data=_text(at, event), event="progress")
        # not for longer: the server cannot end a thread that waits
        await in_thread(journal.wait, run, at, _WAIT_S)


SHOWN_ELSEWHERE: Final = (wire.Problem, run_wire.EventOut, wire.NodeOut)
"""Models of errors and of server-sent events: no response of its own names them."""
