"""A fault in what a package adds is an error that names it, its package and the fault."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest

import toolplan
from tests.extensions.test_scratch_package import python, site
from toolplan import CannotExpress, Plan, Step, ToolplanError
from toolplan.base.extensions import KINDS, EntryPoint, ExtensionError
from toolplan.compiler.rules import PlanContext, Problem, Rule, diagnose, rule
from toolplan.compiler.rules._all import guarded_rules
from toolplan.dialects import Dialect
from toolplan.dialects._base import guarded_dialect
from toolplan.planners import Draft, DraftText, Question, Remembering
from toolplan.planners.context import PlannerContext
from toolplan.planners.guarded import guarded_factory
from toolplan.providers import Message, ModelRequest
from toolplan.providers._endpoint import Endpoint, Manner, Spec, guarded_provider
from toolplan.schema.tool import Effects, Tool, Toolbox, ToolObjectError
from toolplan.tools import OpenedTools, SourceContext, ToolSource
from toolplan.tools.named import guarded_source, guarded_tool

__all__ = ["site"]

TOOLS: Final = Toolbox.from_json([{"name": "t", "input_schema": {"type": "object"}}])
PLAN: Final = Plan((Step("a", "t"),))
ON_PURPOSE: Final = ToolplanError("on-purpose", "This is said on purpose.")


def entry(group: str) -> EntryPoint:
    """Return an entry point of a package whose code is in this module."""
    return EntryPoint("acme-toolplan", f"toolplan.{group}", "acme", f"{__name__}:THIS")


def raises(error: BaseException) -> Callable[..., Any]:
    """Return a function that raises `error` whatever it is given."""

    def function(*_: object, **__: object) -> Any:
        raise error

    return function


def returns(value: object) -> Callable[..., Any]:
    """Return a function that returns `value` whatever it is given."""
    return lambda *_, **__: value


@contextmanager
def fault(kind: str, says: str) -> Generator[None]:
    """Expect an error that names the extension, and says this."""
    with pytest.raises(ExtensionError) as raised:
        yield
    assert raised.value.code == "bad-extension"
    assert f"The {kind} 'acme' of the package acme-toolplan {says}" in raised.value.message
    assert raised.value.help
    if "failed" in says:
        assert re.search(rf"{re.escape(__file__)}:\d+\. .*--debug", raised.value.help)
        assert raised.value.__cause__ is not None


def test_every_group_has_a_kind() -> None:
    names = ("dialects", "rules", "tools", "sources", "planners", "models", "commands")
    assert {*KINDS} == {f"toolplan.{each}" for each in names}


# Dialects


class Acme:
    """A dialect; a test replaces what it says."""

    name = "acme"
    json = False
    parse = print = locate = recognises = stream = staticmethod(returns(None))


def dialect(**members: object) -> Dialect:
    made = Acme()
    for name, member in members.items():
        setattr(made, name, member)
    return guarded_dialect(entry("dialects"), made)


CALLS: Final[dict[str, Callable[[Any], object]]] = {
    "parse": lambda each: each.parse("text", None, None),
    "print": lambda each: each.print(PLAN),
    "locate": lambda each: each.locate("text", "/steps"),
    "recognises": lambda each: each.recognises("text"),
    "stream": lambda each: each.stream(),
    "feed": lambda each: each.stream().feed("text"),
    "chosen": lambda each: each.chosen(":x"),
}


@pytest.mark.parametrize("method", CALLS)
def test_a_dialect_that_raises_is_named(method: str) -> None:
    def made(error: BaseException) -> Dialect:
        if method == "feed":
            return dialect(stream=returns(SimpleNamespace(feed=raises(error))))
        return dialect(**{method: raises(error)})

    with fault("dialect", "failed: ValueError: two lines."):
        CALLS[method](made(ValueError("two\nlines")))
    with fault("dialect", "failed: KeyError."):
        CALLS[method](made(KeyError()))
    refused = CannotExpress("It cannot say this.")
    for passed in (refused, ON_PURPOSE, KeyboardInterrupt(), asyncio.CancelledError()):
        with pytest.raises(type(passed)) as raised:
            CALLS[method](made(passed))
        assert raised.value is passed


@pytest.mark.parametrize(
    ("method", "value", "says"),
    [
        ("parse", None, "returned None from `parse`, where Parsed is needed."),
        ("parse", PLAN, "returned a value of type Plan from `parse`"),
        ("print", None, "returned None from `print`, where str is needed."),
        ("locate", 3, "returned a value of type int from `locate`"),
        ("recognises", None, "returned None from `recognises`, where bool is needed."),
        ("stream", 3, "returned from `stream` what has no method `feed`."),
        ("feed", ["a"], "returned a value of type str from `feed`, where Step is needed."),
        ("feed", None, "returned None from `feed`, no list of steps."),
        ("chosen", 3, "has no method `parse`."),
    ],
)
def test_a_dialect_returning_something_else_is_named(method: str, value: object, says: str) -> None:
    members = {method: returns(value)}
    if method == "feed":
        members = {"stream": returns(SimpleNamespace(feed=returns(value)))}
    made = dialect(**members)
    with fault("dialect", says):
        CALLS[method](made)


def test_a_class_and_what_lacks_members_are_no_dialect() -> None:
    with fault("dialect", "is the class Acme, not an instance of it."):
        guarded_dialect(entry("dialects"), Acme)
    with fault("dialect", "has no text `name`."):
        dialect(name=3)
    with fault("dialect", "has no flag `json`."):
        dialect(json="no")
    with fault("dialect", "has no method `parse`."):
        guarded_dialect(entry("dialects"), object())


# Sources


def source(**members: object) -> ToolSource:
    made = SimpleNamespace(takes_base_url=False, help="Give a file.")
    made.recognises = made.open = returns(True)
    for name, member in members.items():
        setattr(made, name, member)
    return guarded_source(entry("sources"), made)


READS: Final = Tool("acme", "Reads.", {"type": "object"}, effects=Effects.READ)


@pytest.mark.parametrize("offered", [READS, returns(READS)])
def test_a_tool_is_built_in(offered: object) -> None:
    assert guarded_tool(entry("tools"), offered).source == "builtin"


@pytest.mark.parametrize(
    ("offered", "says"),
    [
        (TOOLS["t"], "has another name: 't'."),
        (Tool("acme", "", {"type": "object"}), "may change something,"),
        (3, "is a value of type int, not a Tool."),
        (returns(None), "returned None from "),
        (raises(ValueError("zz")), "failed: ValueError: zz."),
    ],
)
def test_a_tool_that_cannot_be_in_every_toolbox_is_named(offered: object, says: str) -> None:
    with fault("tool", says):
        guarded_tool(entry("tools"), offered)


def opened(made: ToolSource, body: Callable[[], object] = lambda: None) -> list[str]:
    with made.open("spec", SourceContext(Path())) as found:
        body()
        return [*found.tools]


def test_a_source_that_fails_is_named() -> None:
    with fault("source", "failed: ValueError: zz."):
        source(recognises=raises(ValueError("zz"))).recognises("spec", Path())
    with fault("source", "returned None from `recognises`, where bool is needed."):
        source(recognises=returns(None)).recognises("spec", Path())
    with fault("source", "failed: ValueError: zz."):
        opened(source(open=raises(ValueError("zz"))))
    with fault("source", "returned from `open` what is no context manager."):
        opened(source(open=returns([])))
    with fault("source", "is the class Acme, not an instance of it."):
        guarded_source(entry("sources"), Acme)
    with pytest.raises(ToolplanError, match="on purpose"):
        opened(source(open=raises(ON_PURPOSE)))


@pytest.mark.parametrize("tools", [None, [], TOOLS, OpenedTools(cast("Toolbox", []))])
def test_a_source_that_yields_something_else_is_named(tools: object) -> None:
    @contextmanager
    def opens(spec: str, context: SourceContext) -> Generator[object]:
        yield tools

    with fault("source", "returned "):
        opened(source(open=opens))


def test_only_faults_of_the_source_itself_name_it() -> None:
    closed: list[str] = []

    @contextmanager
    def opens(spec: str, context: SourceContext) -> Generator[OpenedTools]:
        try:
            yield OpenedTools(TOOLS)
        finally:
            closed.append(spec)

    @contextmanager
    def fails_later(spec: str, context: SourceContext) -> Generator[OpenedTools]:
        yield OpenedTools(TOOLS)
        raise ValueError("late")

    assert opened(source(open=opens)) == ["t"]
    for error in (ValueError("of the user"), FileNotFoundError(2, "gone", "f"), SystemExit(3)):
        with pytest.raises(type(error)) as raised:
            opened(source(open=opens), raises(error))
        assert raised.value is error
    assert closed == ["spec"] * 4
    with fault("source", "failed: ValueError: late."):
        opened(source(open=fails_later))


def test_a_file_that_a_source_does_not_find_is_named_with_the_help_of_the_source() -> None:
    with pytest.raises(ToolObjectError, match=r"no file 'no\.csv', which the source 'acme'") as it:
        opened(source(open=raises(FileNotFoundError(2, "No such file", "no.csv"))))
    assert it.value.help == "Give a file."


# Rules


def diagnosed(find: Callable[..., Any]) -> list[str]:
    (made,) = cast("tuple[Rule]", guarded_rules(entry("rules"), (rule()(find),)))
    return [each.code for each in diagnose(PlanContext(PLAN, TOOLS), [made])]


def test_a_rule_that_fails_is_named() -> None:
    def no_berlin(context: PlanContext) -> Iterator[object]:
        yield Problem("Berlin is closed.", "")
        raise KeyError("oops")

    def fine(context: PlanContext) -> Iterator[Problem]:
        yield Problem("Berlin is closed.", "")

    assert diagnosed(fine) == ["fine"]
    with fault("rule", "failed: KeyError: 'oops'."):
        diagnosed(no_berlin)
    with fault("rule", "failed: ValueError: boom."):
        diagnosed(raises(ValueError("boom")))
    with fault("rule", "returned None, where problems are needed."):
        diagnosed(returns(None))
    with fault("rule", "returned a value of type str from `<lambda>`, where Problem is needed."):
        diagnosed(returns(["a text"]))
    with pytest.raises(ToolplanError, match="on purpose"):
        diagnosed(raises(ON_PURPOSE))


# Planners


class Proposing:
    def __init__(self, propose: Callable[..., Any]) -> None:
        self.inner = propose

    async def propose(self, *given: object, **options: object) -> Any:
        return self.inner(*given, **options)


class Learning(Proposing):
    keep = drop = staticmethod(raises(ValueError("boom")))


def made_by(factory: object) -> Any:
    return guarded_factory(entry("planners"), factory)(PlannerContext(Path()))


def proposed(planner: object, on_text: Callable[[DraftText], None] | None = None) -> object:
    made = made_by(returns(planner))
    asked = made.propose(Question("q", "2026-01-01"), TOOLS, (), on_text=on_text)
    return asyncio.run(asked)


def test_a_planner_that_fails_is_named() -> None:
    draft = Draft("text")
    assert proposed(Proposing(returns(draft))) is draft
    with fault("planner", "failed: ValueError: boom."):
        proposed(Proposing(raises(ValueError("boom"))))
    with fault("planner", "failed: ValueError: boom."):
        made_by(raises(ValueError("boom")))
    with fault("planner", "has a `propose` that is no async function."):
        proposed(SimpleNamespace(propose=returns(draft)))
    with fault("planner", "was made without a method `propose`."):
        made_by(Proposing.__class__)
    with fault("planner", "is no function that makes a planner."):
        made_by("a text")
    for value, what in ((None, "None"), ("x", "a value of type str"), (3, "a value of type int")):
        with fault("planner", f"returned {what} from `propose`."):
            proposed(Proposing(returns(value)))
    with fault("planner", "returned a Draft whose text or dialect is no text."):
        proposed(Proposing(returns(Draft(cast("str", None)))))
    for passed in (ON_PURPOSE, asyncio.CancelledError()):
        with pytest.raises(type(passed)):
            proposed(Proposing(raises(passed)))
    assert made_by(returns(None)) is None


def test_a_listener_that_fails_is_no_fault_of_the_planner() -> None:
    def propose(*_: object, on_text: Callable[[DraftText], None]) -> Draft:
        on_text(DraftText("text", "toolplan", "acme"))
        return Draft("text")

    with pytest.raises(ValueError, match="of the listener"):
        proposed(Proposing(propose), raises(ValueError("of the listener")))


def test_a_planner_that_learns_still_does() -> None:
    assert not isinstance(made_by(returns(Proposing(returns(None)))), Remembering)
    planner = made_by(returns(Learning(returns(None))))
    assert isinstance(planner, Remembering)
    for learn in (planner.keep, planner.drop):
        with fault("planner", "failed: ValueError: boom."):
            learn(Question("q", "2026-01-01"), TOOLS, Draft("text"))


@pytest.mark.parametrize("value", [None, "text", {}])
async def test_a_planner_of_ones_own_must_propose_something(value: object) -> None:
    app = toolplan.open([], planner=cast("Any", Proposing(returns(value))))
    with pytest.raises(ToolplanError, match="planner Proposing returned") as raised:
        await app.ask("q")
    assert raised.value.code == "bad-planner"


async def test_a_planner_of_ones_own_is_async() -> None:
    planner = SimpleNamespace(propose=returns(Draft("text")))
    with pytest.raises(ToolplanError, match="is no async function") as raised:
        await toolplan.open([], planner=cast("Any", planner)).ask("q")
    assert raised.value.code == "bad-planner"


# Providers of models


SPEC: Final = Spec("acme:x", "other", "acme", "", "x", needs_key=False)


async def _asked(endpoint: Endpoint) -> list[object]:
    request = ModelRequest((Message("user", "Hi"),))
    return [each async for each in endpoint.ask(request, constrained=False)]


def parts(offered: object) -> list[object]:
    return asyncio.run(_asked(guarded_provider(entry("models"), offered)(SPEC, Manner(""))))


def test_a_provider_that_fails_is_named() -> None:
    def asks(*yielded: object, error: BaseException | None = None) -> object:
        async def ask(request: object, *, constrained: bool) -> AsyncGenerator[object]:
            for each in yielded:
                yield each
            if error is not None:
                raise error

        return returns(SimpleNamespace(ask=ask))

    assert parts(asks(None)) == [None]
    with fault("provider", "failed: RuntimeError: x."):
        parts(raises(RuntimeError("x")))
    with fault("provider", "failed: RuntimeError: x."):
        parts(asks(None, error=RuntimeError("x")))
    with fault("provider", "returned a value of type str from `ask`, where Text or Answered or"):
        parts(asks("a text"))
    with fault("provider", "has an `ask` that is no async generator."):
        parts(returns(SimpleNamespace(ask=returns([]))))
    with fault("provider", "opened an endpoint that has no method `ask`."):
        parts(returns(None))
    with fault("provider", "is no function that opens an endpoint."):
        parts("a text")
    for passed in (ON_PURPOSE, asyncio.CancelledError()):
        with pytest.raises(type(passed)):
            parts(asks(error=passed))


# On the command line


BROKEN = """

def planner(context):
    raise ValueError("boom")
"""


def test_a_command_prints_one_error_and_with_debug_the_traceback(site: Path) -> None:
    module = site / "scratch_toolplan/__init__.py"
    module.write_text(module.read_text("utf-8") + BROKEN, "utf-8")
    asked = ("-m", "toolplan", "ask", "Greet", "--planner", "scratch", "--tools", "scratch://one")
    ran = python(site, *asked)
    assert "error[bad-extension]" in ran.stderr
    said = "The planner 'scratch' of the package scratch failed: ValueError: boom."
    assert said in " ".join(ran.stderr.split())
    assert "Traceback" not in ran.stderr
    assert 'raise ValueError("boom")' in python(site, *asked, "--debug").stderr


def test_a_file_that_a_source_misses_is_a_fault_of_the_tools(site: Path) -> None:
    module = site / "scratch_toolplan/__init__.py"
    broken = "\n\nScratchSource.open = lambda self, spec, context: open('nofile.csv')\n"
    module.write_text(module.read_text("utf-8") + broken, "utf-8")
    ran = python(site, "-m", "toolplan", "tools", "--tools", "scratch://one")
    said = " ".join(ran.stderr.split())
    assert "error[bad-tools] There is no file 'nofile.csv'" in said
    assert "the source 'scratch' of the package scratch" in said
    assert "Name tools as scratch://NAME." in said
