"""`toolplan.open`: an app with the defaults of the command line.

Its planner is one that the user names, or the cheapest that can plan a question.
"""

from __future__ import annotations

import logging
import os
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import ExitStack, aclosing
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any, Final, Literal, cast

from msgspec.structs import replace

from toolplan.app._arguments import check_arguments
from toolplan.app._toolset import EffectsArgument, ToolsArgument, Toolset, open_toolbox, open_tools
from toolplan.app.app import DEFAULT_ATTEMPTS, App
from toolplan.app.settings import (
    FILE,
    PolicyArgument,
    Settings,
    home,
    journal_place,
    policy_of,
    read_settings,
)
from toolplan.app.setup import User
from toolplan.base.errors import ToolplanError
from toolplan.base.extras import check_beside
from toolplan.compiler.rules import Rule
from toolplan.dates import Weeks
from toolplan.events import traces
from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.plan.model import Limits
from toolplan.plan.path import Json, copied
from toolplan.planners import Planner, fallback
from toolplan.planners.context import PlannerContext
from toolplan.planners.fallback import Escalation
from toolplan.planners.offline import NAME as OFFLINE
from toolplan.planners.offline import PLANNERS, offline_planner
from toolplan.policy import Policy
from toolplan.providers import (
    Ended,
    Model,
    ModelError,
    ModelRequest,
    Piece,
    Restarted,
    Text,
    UsageTracker,
)
from toolplan.schema.tool import Arguments, Tool, Toolbox
from toolplan.show.printable import printable
from toolplan.storage.journal import Store

_MISSING: Final = {
    "llm": (
        "no-model",
        "The planner 'llm' needs a model, and none is named.",
        "Name one as model: ollama:mistral, openai:MODEL, or URL#MODEL.",
    ),
    "contract": (
        "usage",
        "The planner 'contract' needs contracts.",
        "Name their folder as contracts.",
    ),
}
logger = logging.getLogger("toolplan")


def planning(
    planner: str | Planner,
    model: str | Sequence[str] | Model | None,
    settings: Settings,
    weeks: Weeks,
    contracts: Sequence[str],
    policy: Policy,
    tracker: UsageTracker,
    note: Callable[[str], None],
) -> tuple[dict[str, Any], Callable[[], Model] | None]:
    """Return the planner, attempts and model of an app, and what opens the model of `extract`.

    See `toolplan.open`. Without a named model there is neither.
    """
    specs, given = _named_or_given(planner, model)
    if planner == OFFLINE and (specs or given):
        raise ToolplanError(
            "usage", "The planner 'offline' asks no model.", "Leave out the model, or the planner."
        )

    @cache
    def opened() -> Model:
        return TracedModel(given or settings.models.opened(specs, tracker))

    reading = opened if given or specs or settings.names_model else None
    asked: Model | None = None
    if reading is not None and (given or planner not in (OFFLINE, "contract")):
        asked = reading()
        for sentence in () if given else settings.models.notes:
            note(sentence)
    if not isinstance(planner, str):
        return {"planner": planner, "model": asked}, reading
    named = (contracts,) if isinstance(contracts, str) else tuple(contracts)
    context, attempts = (
        PlannerContext(home(), planner, weeks, named, policy=policy),
        DEFAULT_ATTEMPTS,
    )
    if asked is not None:
        known = settings.models
        attempts = max(1, known.max_retries)
        context = replace(
            context,
            model=asked,
            models=specs if specs or given else known.models,
            temperature=known.temperature,
            max_tokens=known.max_tokens,
            requests=attempts,
            instructions=known.instructions,
            small_model=known.small_model,
            caching=known.enable_caching,
            cache_max_size=known.cache_max_size,
            cache_ttl_s=known.cache_ttl_ms / 1000,
        )

    def report(step: Escalation) -> None:
        note(f"No plan from {step.planner}: {step.reason}")

    made = _chain(planner, context, report)
    return {"planner": made, "attempts": attempts, "model": asked}, reading


def _named_or_given(planner: object, model: object) -> tuple[tuple[str, ...], Model | None]:
    """Return the names of models, and the model that is given as an object."""
    if not isinstance(planner, str) and not hasattr(planner, "propose"):
        raise ToolplanError(
            "usage",
            f"planner= is a value of type {type(planner).__name__}.",
            f"Give auto, {', '.join(PLANNERS)}, or an object with `propose`.",
        )
    if model is None or isinstance(model, str):
        return (() if model is None else (model,)), None
    if isinstance(model, list | tuple):
        return tuple(map(str, cast("Sequence[object]", model))), None
    if not hasattr(model, "stream"):
        raise ToolplanError(
            "usage",
            f"model= is a value of type {type(model).__name__}.",
            "Give a name such as 'ollama:mistral', a list of names, or an object with `stream`.",
        )
    return (), cast("Model", model)


def _chain(choice: str, context: PlannerContext, report: Callable[[Escalation], None]) -> Planner:
    # a planner is loaded only where it may apply
    contract = _made("contract", context) if context.contracts else None
    if choice == "contract":
        return contract or _refuse(choice)
    llm: Planner | None = None
    if choice in ("auto", OFFLINE):
        planner = offline_planner(context)
        llm = _made("llm", context) if choice == "auto" and context.model is not None else None
        if llm is not None:
            parts = {OFFLINE: planner, "llm": llm} if OFFLINE in PLANNERS else {"llm": llm}
            planner = fallback.FallbackChain(parts, on_escalation=report)
    else:
        planner = _made(choice, context) or _refuse(choice)
        llm = planner if choice == "llm" else None
    if llm is not None:
        version = str(getattr(llm, "version", ""))
        cached = _made("cache", replace(context, inner=planner, inner_version=version))
        planner = cached or planner
    if contract is None:
        return planner
    return fallback.FallbackChain({"contract": contract, choice: planner}, on_escalation=report)


def _made(name: str, context: PlannerContext) -> Planner | None:
    if name not in PLANNERS:
        check_beside("planner", name)
        known = f"There are auto, {', '.join(PLANNERS)}."
        help_ = did_you_mean(near(name, PLANNERS)) or known
        raise ToolplanError("usage", f"There is no planner {name!r}.", help_)
    return PLANNERS[name](context)


def _refuse(name: str) -> Planner:
    other = ("usage", f"The planner {name!r} does not apply here.", None)
    raise ToolplanError(*_MISSING.get(name, other))


class TracedModel:
    """Passes requests on to a model; each is a span `chat`."""

    def __init__(self, inner: Model) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """Display name of the model."""
        return self._inner.name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the reply as it is written."""
        content = traces.is_on() and traces.captures_content()
        known = {traces.OPERATION: "chat", traces.PROVIDER: self.name.partition(":")[0]}
        known[traces.REQUEST_MODEL] = self.name
        # not the current span: a generator runs in the context of its reader
        opened = traces.start(f"chat {self.name}", known, kind="CLIENT")
        began, said = perf_counter(), list[str]()
        try:
            async with aclosing(self._inner.stream(request)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Text) and content:
                        said.append(piece.text)
                    elif isinstance(piece, Restarted):
                        said.clear()
                    elif isinstance(piece, Ended) and opened is not None:
                        used = piece.usage
                        opened.set_attribute(traces.RESPONSE_MODEL, piece.model)
                        opened.set_attribute(traces.INPUT_TOKENS, used.input_tokens)
                        opened.set_attribute(traces.OUTPUT_TOKENS, used.output_tokens)
                        tokens = {"input": used.input_tokens, "output": used.output_tokens}
                        took = perf_counter() - began
                        traces.measure_tokens("chat", piece.model, tokens, took, used.cost_usd)
                    yield piece
        except ModelError as error:
            traces.fail(opened, error.code)
            raise
        finally:
            if opened is not None:
                asked = [(each.role, each.text) for each in request.messages]
                reply = [("assistant", "".join(said))] if said else []
                for name, texts in (
                    (traces.INPUT_MESSAGES, asked),
                    (traces.OUTPUT_MESSAGES, reply),
                ):
                    if content and texts:
                        shown: Json = [{"role": role, "content": text} for role, text in texts]
                        opened.set_attribute(name, traces.content_text(shown))
                opened.end()


def open(
    tools: ToolsArgument = None,
    *,
    toolbox: str | None = None,
    model: str | Sequence[str] | Model | None = None,
    planner: str | Planner = "auto",
    journal: str | os.PathLike[str] | Store | None = None,
    policy: PolicyArgument = None,
    settings: str | os.PathLike[str] | Mapping[str, object] | Settings | None = None,
    base_url: str | None = None,
    effects: EffectsArgument = (),
    weeks: Literal["rolling", "calendar"] = "rolling",
    contracts: Sequence[str] = (),
    limits: Limits = Limits(),
    rules: Sequence[Rule] | None = None,
    on_note: Callable[[str], None] | None = None,
    on_claim: Callable[[str], bool | None] | None = None,
    grace: float | None = None,
    clock: Callable[[], float] = time.time,
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
) -> App:
    """Open tools, a planner and a journal, with the defaults of the command line.

    Args:
        tools: what `--tools` takes; a module, tool, function or tool object; or a list. None: demo.
        toolbox: instead of tools, the name of a table [toolboxes.NAME] of the settings.
        model: a model, or names of models in the order of asking. None: those of the settings.
        planner: `auto`, the name of a planner, or a planner.
        journal: where runs are kept: a file, `postgres://…`, or a journal. None: the user's own.
        policy: a policy, or its file. None: `toolplan.policy.toml` beside the settings.
        settings: the folder of `toolplan.toml`, or its content. None: the user's own.
        base_url: the address of the service of an OpenAPI document.
        effects: `TOOL=LABEL` or a mapping: what tools change, whatever their source says.
        weeks: whether *last week* is the last 7 days, or Monday to Sunday.
        contracts: files and folders of contracts: which agent does what, and needs what.
        limits: the largest plans and runs.
        rules: what plans are checked by. None: the rules of all installed packages.
        on_note: called with each sentence for the user. None: the log `toolplan`, level INFO.
        on_claim: returns whether a source's claim counts. None: such tools need an approval.
        grace: seconds for late servers, times their share of all; `App.refresh` has the rest.
        clock: seconds since the epoch.
        new_id: returns the name of a run.
    """
    check_arguments(limits=limits, toolbox=toolbox, contracts=contracts, rules=rules, weeks=weeks)
    check_arguments(journal=journal, on_note=on_note, clock=clock, new_id=new_id, grace=grace)
    known, note = _settings(settings), _printing(on_note)
    policy, zone, tracker = policy_of(policy, known.path), known.models.zone, UsageTracker()
    how, reading = planning(planner, model, known, weeks, contracts, policy, tracker, note)
    with ExitStack() as opening:
        given = open_toolbox(toolbox, known, note) if toolbox else open_tools(
            tools, known, note, effects, base_url, contracts, reading, on_claim, grace_s=grace
        )  # fmt: skip
        opened = opening.enter_context(given)
        user = _user(opened, known, tracker, toolbox, opening.pop_all())
    return App(
        _in_zone(opened.tools, zone), **how, insights=opened.insights, policy=policy,
        limits=limits, rules=rules, user=user, on_note=note, clock=clock, new_id=new_id,
        journal=journal if isinstance(journal, Store) else journal_place(known, journal),
    )  # fmt: skip


def _printing(on_note: Callable[[str], None] | None) -> Callable[[str], None]:
    report = logger.info if on_note is None else on_note
    return lambda sentence: report(printable(sentence))


def _user(
    opened: Toolset,
    known: Settings,
    tracker: UsageTracker,
    toolbox: str | None,
    resources: ExitStack,
) -> User:
    learns = None if toolbox else home()  # other machines do not know what is learned here
    news = opened.has_news or User().has_news

    def late() -> tuple[Toolbox, tuple[str, ...]] | None:
        found = opened.late and opened.late()
        return None if found is None else (_in_zone(found.tools, known.models.zone), found.faults)

    faults = opened.faults
    return User(known, learns, opened.advice, tracker, toolbox or "", faults, resources, late, news)


def _in_zone(tools: Toolbox, zone: str) -> Toolbox:
    return Toolbox(_with_zone(each, zone) for each in tools.values()) if zone else tools


def _with_zone(tool: Tool, zone: str) -> Tool:
    """Return `tool` with this `zone` by default, where it is a package's and takes one."""
    own = tool.call
    if tool.source != "builtin" or own is None or "zone" not in tool.signature.inputs:
        return tool
    schema: Any = copied(tool.raw_input)
    schema["properties"]["zone"]["default"] = zone

    async def call(arguments: Arguments) -> Json:
        return await own({"zone": zone, **arguments})

    return replace(tool, raw_input=schema, call=call)


def _settings(given: object) -> Settings:
    match given:
        case Settings():
            return given
        case Mapping():
            return Settings(cast("Mapping[str, object]", given))
        case None:
            return read_settings(home())
        case str() | os.PathLike() if given != "" and Path(cast("str", given)).is_dir():
            return read_settings(Path(cast("str", given)))
        case _:
            message = f"settings={given!r:.200} is no folder."
            raise ToolplanError("bad-settings", message, f"Give the folder of {FILE}.")
