"""Spans and metrics of OpenTelemetry, by its conventions for generative AI.

Names are those of the conventions in development of 2026-10 (open-telemetry/semantic-conventions-
genai); each stands in this file only. Questions, arguments and results are in no span unless
`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` asks for them.

Nothing is loaded here: a program that exports traces has loaded `opentelemetry` itself and set a
provider of tracers; without one, nothing is traced.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from time import perf_counter
from typing import Any, Final

from toolplan.base import extras
from toolplan.base.errors import ToolplanError
from toolplan.events import Run
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Call, OutcomeUnknown, Tool
from toolplan.schema.tool_call import ToolCall, current_call

SCOPE: Final = "toolplan"

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
TOOL: Final = "gen_ai.tool.name"
RUN: Final = "toolplan.run.id"
STATUS: Final = "toolplan.run.status"
STEPS: Final = "toolplan.plan.steps"

_CAPTURE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CAPTURES: Final = frozenset(("true", "span_only", "span_and_event"))
_MOST_CONTENT: Final = 100_000


def is_on() -> bool:
    """Return whether this program has loaded OpenTelemetry and set a provider of tracers."""
    trace: Any = sys.modules.get("opentelemetry.trace")
    return trace is not None and not isinstance(
        trace.get_tracer_provider(), trace.ProxyTracerProvider
    )


def captures_content() -> bool:
    """Return whether spans hold questions, arguments, results and messages."""
    return os.environ.get(_CAPTURE, "").lower() in _CAPTURES


@contextmanager
def span(
    name: str, attributes: Mapping[str, str | int], *, kind: str = "INTERNAL"
) -> Generator[Any]:
    """Open a span as the current one; yield it, or None where nothing is traced.

    An exception ends it with its type, and without its message, which may hold content.
    """
    started = start(name, attributes, kind=kind)
    if started is None:
        yield None
        return
    trace: Any = sys.modules["opentelemetry.trace"]
    quiet = {"record_exception": False, "set_status_on_exception": False}
    with trace.use_span(started, end_on_exit=True, **quiet) as opened:
        try:
            yield opened
        except BaseException as error:
            fail(opened, error_type(error))
            raise


def start(name: str, attributes: Mapping[str, str | int], *, kind: str) -> Any:  # noqa: ANN401 — of a library that may be absent
    """Return a span that is not made the current one, or None where nothing is traced."""
    if not is_on():
        return None
    trace: Any = sys.modules["opentelemetry.trace"]
    return trace.get_tracer(SCOPE, extras.own_version()).start_span(
        name, kind=trace.SpanKind[kind], attributes=attributes
    )


def fail(opened: Any, reason: str) -> None:  # noqa: ANN401 — of a library that may be absent
    """Mark a span as failed; `reason` is a code or the name of an exception."""
    if opened is not None:
        trace: Any = sys.modules["opentelemetry.trace"]
        opened.set_attribute("error.type", reason)
        opened.set_status(trace.StatusCode.ERROR)


def error_type(error: BaseException) -> str:
    """Return what an error is called in spans: its code, or the name of its class."""
    return error.code if isinstance(error, ToolplanError) else type(error).__name__


@contextmanager
def workflow(name: str) -> Generator[Callable[[Run | None], None]]:
    """Open the span of a question or a run; yield what takes the run at its end."""
    with span(
        f"invoke_workflow {name}", {OPERATION: "invoke_workflow", "gen_ai.workflow.name": name}
    ) as opened:

        def ended(run: Run | None) -> None:
            if opened is None or run is None:
                return
            opened.set_attributes({RUN: run.run, STATUS: run.status.value, STEPS: len(run.steps)})
            if run.digest:
                opened.set_attribute("toolplan.plan.digest", run.digest)
            if not run.succeeded:
                fail(opened, run.status.value if run.error is None else run.error.code)
            _count("toolplan.runs", "{run}", 1, {STATUS: run.status.value})
            for doubt in (each for step in run.steps.values() for each in step.doubts):
                _count("toolplan.calls.in_doubt", "{call}", 1, {TOOL: doubt.tool})

        yield ended


async def traced_call(function: Call, arguments: Arguments, tool: Tool, call: ToolCall) -> Json:
    """Call a tool in a span of its own, and measure the call."""
    attributes: dict[str, str | int] = {
        OPERATION: "execute_tool",
        TOOL: tool.name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": call.key[:32],
        RUN: call.run,
        "toolplan.step.id": call.step,
        "toolplan.call.attempt": call.attempt,
    }
    if call.item is not None:
        attributes["toolplan.step.item"] = call.item
    content = captures_content()
    if content:
        attributes["gen_ai.tool.call.arguments"] = content_text(arguments)
    began, outcome = perf_counter(), "ok"
    try:
        with span(f"execute_tool {tool.name}", attributes) as opened:
            result = await function(arguments)
            if content and opened is not None:
                opened.set_attribute("gen_ai.tool.call.result", content_text(result))
            return result
    except BaseException as error:
        outcome = "unknown" if isinstance(error, OutcomeUnknown) else error_type(error)
        raise
    finally:
        labels = {TOOL: tool.name, "toolplan.outcome": outcome}
        _count("toolplan.calls", "{call}", 1, labels)
        _record("toolplan.call.duration", "s", perf_counter() - began, {TOOL: tool.name})


def measure_tokens(
    operation: str, model: str, tokens: Mapping[str, int], seconds: float, cost_usd: float | None
) -> None:
    """Measure what a model used: tokens by type (`input`, `output`), seconds, US dollars."""
    labels = {OPERATION: operation, REQUEST_MODEL: model, PROVIDER: model.partition(":")[0]}
    for kind, count in tokens.items():
        _record(
            "gen_ai.client.token.usage", "{token}", count, {**labels, "gen_ai.token.type": kind}
        )
    _record("gen_ai.client.operation.duration", "s", seconds, labels)
    if cost_usd is not None:
        _count("toolplan.cost", "{USD}", cost_usd, labels)


def context_headers() -> dict[str, str]:
    """Return the current trace context, as W3C headers, or empty if there is none."""
    found: dict[str, str] = {}
    if is_on():
        propagate: Any = import_module("opentelemetry.propagate")
        propagate.inject(found)
    return found


class RunFilter(logging.Filter):
    """Adds `toolplan_run` and `toolplan_step` to log records, empty outside of a call."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the fields; every record passes."""
        call = current_call()
        record.toolplan_run = "" if call is None else call.run
        record.toolplan_step = "" if call is None else call.step
        return True


def content_text(value: object) -> str:
    """Return a value as the text of an attribute, cut off at 100,000 characters."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)[:_MOST_CONTENT]
    except (ValueError, RecursionError):
        return ""


def _count(name: str, unit: str, amount: float, labels: Mapping[str, str]) -> None:
    if "opentelemetry.metrics" in sys.modules:
        _instrument("create_counter", name, unit).add(amount, labels)


def _record(name: str, unit: str, amount: float, labels: Mapping[str, str]) -> None:
    if "opentelemetry.metrics" in sys.modules:
        _instrument("create_histogram", name, unit).record(amount, labels)


@cache
def _instrument(create: str, name: str, unit: str) -> Any:  # noqa: ANN401 — of a library that may be absent
    metrics: Any = sys.modules["opentelemetry.metrics"]
    return getattr(metrics.get_meter(SCOPE, extras.own_version()), create)(name, unit=unit)
