"""Traces: what an OTLP receiver gets of a run, and what it never gets."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("opentelemetry.sdk", reason="the SDK of OpenTelemetry is not installed")
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

PROGRAM = '''
import asyncio, json, os, sys
from pathlib import Path

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

import toolplan
from toolplan.testing import ScriptedModel

place = os.environ["RECEIVER"]
tracer = TracerProvider()
tracer.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{place}/v1/traces")))
trace.set_tracer_provider(tracer)
reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{place}/v1/metrics"))
meter = MeterProvider(metric_readers=[reader])
metrics.set_meter_provider(meter)


@toolplan.tool(effects="read")
async def look(name: str) -> str:
    """Looks something up."""
    await asyncio.sleep(0.05)
    return "SECRET-RESULT " + toolplan_headers().get("traceparent", "")


@toolplan.tool(effects="read")
def broken(name: str) -> str:
    """Fails."""
    raise ValueError("SECRET-MESSAGE")


def toolplan_headers():
    from toolplan.events.traces import context_headers

    return context_headers()


PLAN = {
    "steps": [
        {"id": "a", "tool": "look", "args": {"name": "SECRET-ARGUMENT"}},
        {"id": "b", "tool": "look", "args": {"name": "b"}},
        {"id": "c", "tool": "look", "for_each": ["x", "y"], "args": {"name": "${item}"}},
        {"id": "d", "tool": "broken", "args": {"name": "d"}, "on_error": "continue"},
    ]
}


async def main() -> None:
    async with toolplan.open([look, broken]) as app:
        ended = await app.run(PLAN)
        print(ended.steps["a"].output)
    reply = '{"toolplan": 1, "steps": [{"id": "a", "tool": "look", "args": {"name": "x"}}]}'
    async with toolplan.open([look], model=ScriptedModel([reply]), planner="llm") as app:
        asked = await app.ask("SECRET-QUESTION")
        assert asked.succeeded, asked
    served = {"command": sys.executable, "args": ["-m", "toolplan", "demo"]}
    file = Path(os.environ["TOOLPLAN_HOME"]) / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"demo": served}}))
    async with toolplan.open(file) as app:
        ended = await app.run({"steps": [{"id": "f", "tool": "facilities_list"}]}, yes=True)
        assert ended.succeeded, ended.error


asyncio.run(main())
tracer.shutdown()
meter.shutdown()
'''
SETUP, REST = PROGRAM.split("@toolplan.tool", 1)
ENDING = REST[REST.rindex("asyncio.run(") :]
ONE_RUN = (
    SETUP
    + """
PLAN = {
    "steps": [
        {"id": "facilities", "tool": "facilities_list", "args": {"location": "Hamburg"}},
        {"id": "shipments", "tool": "shipments_list", "for_each": "${facilities.data}",
         "args": {"facility_id": ["${item.id}"], "status": "rejected"}},
        {"id": "numbers", "tool": "sql", "on_error": "continue",
         "args": {"sql": "SELECT CAST(name AS INTEGER) AS n FROM t",
                  "tables": {"t": "${facilities.data}"}}},
    ]
}


async def main() -> None:
    served = {"command": sys.executable, "args": ["-m", "toolplan", "demo"]}
    file = Path(os.environ["TOOLPLAN_HOME"]) / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"demo": served}}))
    async with toolplan.open(file) as app:
        ended = await app.run(PLAN, yes=True)
        print({name: step.state.value for name, step in ended.steps.items()})


"""
    + ENDING
)
DOCS = Path(__file__).parents[1] / "docs/traces.md"


class Received(NamedTuple):
    """What the receiver got."""

    spans: list[Any]
    metrics: dict[str, Any]
    raw: bytes
    out: str

    def named(self, name: str) -> list[Any]:
        return [each for each in self.spans if each.name == name]


def attributes(span: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in span.attributes:
        kind = each.value.WhichOneof("value")
        found[each.key] = getattr(each.value, kind)
    return found


@contextmanager
def receiver() -> Generator[tuple[str, list[tuple[str, bytes]]]]:
    """A receiver of OTLP over HTTP, on loopback."""
    got: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", got
        server.shutdown()


def tree(spans: list[Any], parent: Any, before: str = "") -> list[str]:
    """Return the spans below `parent` as lines, by step and item."""
    own = [each for each in spans if each.parent_span_id == parent.span_id]
    own.sort(key=lambda each: (line_of(each), attributes(each).get("toolplan.step.item")))
    lines: list[str] = []
    for each in own:
        corner, line = ("└── ", "    ") if each is own[-1] else ("├── ", "│   ")
        lines += [f"{before}{corner}{line_of(each)}", *tree(spans, each, before + line)]
    return lines


def line_of(span: Any) -> str:
    """Return a span as a line: its name, its step and item, and why it failed."""
    found = attributes(span)
    keys = ("toolplan.step.id", "toolplan.step.item", "toolplan.run.status", "error.type")
    shown = [f"{key.removeprefix('toolplan.')}={found[key]}" for key in keys if key in found]
    return "  ".join([span.name, *shown])


def received(folder: Path, program: str = PROGRAM, **variables: str) -> Received:
    with receiver() as (place, got):
        own = {"RECEIVER": place, "TOOLPLAN_HOME": str(folder)}
        plain = {"OTEL_EXPORTER_OTLP_COMPRESSION": "none"}
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **own, **plain, **variables},
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    spans: list[Any] = []
    metrics: dict[str, Any] = {}
    for path, body in got:
        if path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    spans += scope.spans
        else:
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for scope in resource.scope_metrics:
                    metrics |= {each.name: each for each in scope.metrics}
    return Received(spans, metrics, b"".join(body for _, body in got), done.stdout)


@pytest.fixture(scope="module")
def got(tmp_path_factory: pytest.TempPathFactory) -> Received:
    """What the receiver gets of `PROGRAM`."""
    return received(tmp_path_factory.mktemp("home"))


def test_a_run_is_one_trace_with_a_span_for_each_call(got: Received) -> None:
    run, _ = sorted(got.named("invoke_workflow run"), key=lambda each: each.start_time_unix_nano)
    assert attributes(run)["toolplan.run.status"] == "succeeded"
    looks = [each for each in got.named("execute_tool look") if each.trace_id == run.trace_id]
    assert len(looks) == 4
    assert {each.parent_span_id for each in looks} == {run.span_id}
    by_step = {(attributes(each)["toolplan.step.id"]) for each in looks}
    assert by_step == {"a", "b", "c"}
    assert {attributes(each).get("toolplan.step.item") for each in looks} == {None, 0, 1}
    latest_start = max(each.start_time_unix_nano for each in looks)
    assert latest_start < min(each.end_time_unix_nano for each in looks), "they ran in parallel"
    (broken,) = got.named("execute_tool broken")
    assert attributes(broken)["error.type"] == "ValueError"
    assert broken.status.code == 2
    assert run.trace_id.hex() in got.out, "the context of the span reaches the tool"


def test_the_trace_of_the_docs_is_what_a_receiver_gets(tmp_path: Path) -> None:
    """One run: calls side by side, calls to an MCP server, and a step that failed."""
    got = received(tmp_path, ONE_RUN)
    (run,) = got.named("invoke_workflow run")
    shown = "\n".join([line_of(run), *tree(got.spans, run)])
    fanned = got.named("execute_tool demo.shipments_list")
    assert len(fanned) == 2
    assert max(each.start_time_unix_nano for each in fanned) < min(
        each.end_time_unix_nano for each in fanned
    ), "they ran side by side"
    sent = [each for each in got.spans if each.name.startswith("MCP send tools/call")]
    assert len(sent) == 1 + len(fanned)
    (failed,) = got.named("execute_tool sql")
    assert (failed.status.code, "numbers" in line_of(failed)) == (2, True)
    assert f"```\n{shown}\n```" in DOCS.read_text("utf-8"), shown


def test_a_call_to_an_mcp_server_belongs_to_the_trace(got: Received) -> None:
    (call,) = got.named("execute_tool demo.facilities_list")
    (sent,) = [each for each in got.spans if each.name.endswith("tools/call facilities_list")]
    assert (sent.trace_id, sent.parent_span_id) == (call.trace_id, call.span_id)


def test_a_question_has_spans_of_its_plan_and_the_models_requests(got: Received) -> None:
    (ask,) = got.named("invoke_workflow ask")
    plans = got.named("plan")
    assert {each.parent_span_id for each in plans} == {ask.span_id}
    chats = [each for each in got.spans if each.name.startswith("chat ")]
    assert chats
    assert {each.parent_span_id for each in chats} <= {each.span_id for each in plans}
    assert attributes(chats[0])["gen_ai.operation.name"] == "chat"
    assert {"toolplan.runs", "toolplan.calls", "toolplan.call.duration"} <= got.metrics.keys()
    assert "gen_ai.client.token.usage" in got.metrics


def test_content_is_in_spans_only_where_it_is_asked_for(got: Received, tmp_path: Path) -> None:
    for secret in ("ARGUMENT", "RESULT", "MESSAGE", "QUESTION"):
        assert f"SECRET-{secret}".encode() not in got.raw
    more = received(tmp_path, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="true")
    for secret in ("ARGUMENT", "RESULT", "QUESTION"):
        assert f"SECRET-{secret}".encode() in more.raw


def test_nothing_is_loaded_where_nothing_is_traced() -> None:
    program = "import toolplan, sys; toolplan.open; print('opentelemetry' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
