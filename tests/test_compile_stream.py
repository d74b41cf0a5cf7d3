"""Plans that are still being written: which steps are given, when, and that they are the plan's."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dialects.test_fuzz import TEXTS
from tests.plans_strategy import plans, scripted_tools
from toolplan import CannotExpress, Effects, StreamRefused, Toolbox, ToolplanError, run_stream
from toolplan.compiler import CompileStream, compile_plan, compile_stream, to_text
from toolplan.compiler.rules.pages import may_get_pages
from toolplan.dialects import DIALECTS, json_text
from toolplan.dialects.json_text import IsPlan, JsonText
from toolplan.events import RunState
from toolplan.plan.model import Limits, Plan, Ref, Step
from toolplan.plan.path import Json
from toolplan.policy.approval import ApprovalRequired, approve
from toolplan.testing import Gives, ScriptedTools

MANY = settings().max_examples
FEW = MANY if MANY > 100 else MANY // 3
STREAMED = ("toolplan", "clear", "kirha", "nestful", "sealtools")


class Given:
    """What a stream gave: each step, and how many characters had been written by then."""

    def __init__(self, stream: CompileStream) -> None:
        self.stream = stream
        self.steps: list[Step] = []
        self.written: list[int] = []

    def disagreements(self) -> tuple[str, ...]:
        """Return the ids of steps that are missing in the compiled plan, or differ there."""
        plan = self.stream.compiled.plan
        final = {} if plan is None else {step.id: step for step in plan.plan.steps}
        return tuple(step.id for step in self.steps if final.get(step.id) != step)


async def _chunks(chunks: Sequence[str]) -> AsyncIterator[str]:
    for chunk in chunks:
        yield chunk


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def streamed(
    chunks: Sequence[str], tools: Toolbox, dialect: str = "toolplan", *, limits: Limits = Limits()
) -> Given:
    async def read() -> Given:
        given_ = Given(compile_stream(_chunks(chunks), dialect, tools=tools, limits=limits))
        async for step in given_.stream:
            given_.steps.append(step)
            given_.written.append(len(given_.stream.text))
        return given_

    return asyncio.run(read())


def tools() -> ScriptedTools:
    made = ScriptedTools()
    made.add("read", Gives({"n": 1}), output_schema={"properties": {"n": {"type": "integer"}}})
    made.add(
        "take",
        Gives({"n": 2}),
        input_schema={"type": "object", "properties": {"x": {"type": "integer"}}},
    )
    made.add("write", Gives("done"), effects=Effects.WRITE)
    return made


def text_of(*steps: Mapping[str, object] | str) -> str:
    return json.dumps({"toolplan": 1, "steps": steps})


@given(plan=plans(), size=st.integers(1, 60))
def test_what_is_given_is_the_plan_step_by_step_as_it_is_written(plan: Plan, size: int) -> None:
    box = scripted_tools().toolbox
    try:
        text = to_text(plan)
    except CannotExpress:
        return
    found = streamed(cut(text, size), box)
    whole = compile_plan(text, tools=box)
    assert found.stream.compiled == whole
    final = () if whole.plan is None else whole.plan.plan.steps
    if whole.plan is not None:
        assert found.disagreements() == ()
        assert tuple(found.steps) == final[: len(found.steps)]
    if whole.plan is not None and not whole.diagnostics:
        tools_of = [(step, box[step.tool]) for step in final]
        held = [may_get_pages(*each) and not each[1].has_effects for each in tools_of]
        assert len(found.steps) == (held.index(True) if any(held) else len(final))
        for step, written in zip(found.steps, found.written, strict=True):
            # no later than in the chunk in which its last character came
            assert text.index(json.dumps(step.id), 0) < written <= len(text)


@pytest.mark.parametrize("dialect", STREAMED)
@settings(max_examples=FEW)
@given(plan=plans(max_steps=5), size=st.integers(1, 40))
def test_every_dialect_gives_nothing_but_its_plan(dialect: str, plan: Plan, size: int) -> None:
    box = scripted_tools().toolbox
    try:
        text = to_text(plan, dialect, box)
    except CannotExpress:
        return
    found = streamed(cut(text, size), box, dialect)
    whole = compile_plan(text, dialect, tools=box)
    assert found.stream.compiled == whole
    if whole.plan is not None:
        assert found.disagreements() == ()


@pytest.mark.parametrize("dialect", ["clear", "kirha", "nestful"])
def test_a_dialect_gives_its_steps_before_the_end(dialect: str) -> None:
    box = tools().toolbox
    plan = Plan((Step("a", "read"), Step("b", "take", {"x": Ref("a", ("n",))}), Step("c", "read")))
    found = streamed(cut(to_text(plan, dialect, box), 3), box, dialect)
    assert [step.tool for step in found.steps] == ["read", "take", "read"]
    assert found.written == sorted(set(found.written))
    assert found.written[0] < len(found.stream.text) / 2


def test_a_text_that_is_cut_off_anywhere_gives_a_beginning_and_no_plan() -> None:
    box = tools().toolbox
    whole = Plan((Step("a", "read"), Step("b", "take", {"x": Ref("a", ("n",))})))
    text = to_text(whole).rstrip()
    for end in range(len(text)):
        found = streamed([text[:end]], box)
        assert tuple(found.steps) == whole.steps[: len(found.steps)]
        assert found.stream.compiled.plan is None
        assert found.disagreements() == tuple(step.id for step in found.steps)


@given(text=TEXTS, size=st.integers(1, 9), dialect=st.sampled_from(STREAMED))
def test_no_text_makes_it_raise(text: str, size: int, dialect: str) -> None:
    found = streamed(cut(text, size), tools().toolbox, dialect)
    assert found.stream.compiled == compile_plan(text, dialect, tools=tools().toolbox)


@pytest.mark.parametrize(
    "before", ["", "\n ", "```json\n", "~~~\n", '<think>first {"steps": [{"id": "z"}]}</think>\n']
)
@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_fence_and_thoughts_before_the_plan_are_passed_over(before: str, size: int) -> None:
    after = f"\n{before[:3]}\n" if before[:1] in ("`", "~") else ""
    text = before + text_of({"id": "a", "tool": "read"}, {"id": "b", "tool": "read"}) + after
    found = streamed(cut(text, size), tools().toolbox)
    assert [step.id for step in found.steps] == ["a", "b"]
    assert found.disagreements() == ()


@pytest.mark.parametrize("before", ["Here is {the plan}: ", "[1] ", "So:\n"])
def test_behind_other_prose_the_plan_is_known_in_the_end(before: str) -> None:
    found = streamed([before + text_of({"id": "a", "tool": "read"})], tools().toolbox)
    assert found.steps == []


def test_a_step_that_has_to_be_fixed_and_what_follows_it_wait_for_the_end() -> None:
    text = text_of(
        {"id": "a", "tool": "read"},
        {"id": "b", "tool": "take", "args": {"x": "5"}},
        {"id": "c", "tool": "read"},
    )
    found = streamed(cut(text, 5), tools().toolbox)
    assert [step.id for step in found.steps] == ["a"]
    assert found.stream.compiled.plan is not None
    assert found.disagreements() == ()


def test_what_a_step_refers_to_may_be_written_behind_it() -> None:
    text = text_of(
        {"id": "b", "tool": "take", "args": {"x": "${a.n}"}}, {"id": "a", "tool": "read"}
    )
    found = streamed(cut(text, 5), tools().toolbox)
    assert [step.id for step in found.steps] == ["b", "a"]


@pytest.mark.parametrize(
    ("second", "given_"),
    [
        ({"id": "a", "tool": "read"}, ["a"]),  # taken
        ({"id": "b", "tool": "nothing"}, ["a"]),
        ({"id": "b", "tool": "take", "args": {"x": "${a.missing}"}}, ["a"]),
        ({"id": "b", "tool": "take", "args": {"x": {}}}, ["a"]),
        ({"id": "b", "tool": "take", "args": {"x": "${a.n"}}, ["a"]),
        ("b", ["a"]),
        ({"id": "b", "tool": "read", "after": ["nowhere"]}, ["a", "b"]),  # known in the end
    ],
)
def test_a_wrong_step_is_not_given_and_the_plan_is_refused(
    second: Mapping[str, object] | str, given_: list[str]
) -> None:
    found = streamed(cut(text_of({"id": "a", "tool": "read"}, second), 3), tools().toolbox)
    assert [step.id for step in found.steps] == given_
    assert found.stream.compiled.plan is None
    assert found.disagreements() == tuple(given_)


def test_nothing_is_read_beyond_the_limits() -> None:
    text = text_of(*({"id": f"s{at}", "tool": "read"} for at in range(50)))
    found = streamed(cut(text, 10), tools().toolbox, limits=Limits(text_bytes=200))
    assert [each.code for each in found.stream.compiled.diagnostics] == ["too-large"]
    assert len(found.stream.text) <= 210
    few = streamed(cut(text, 10), tools().toolbox, limits=Limits(steps=3))
    assert len(few.steps) == 3
    assert [each.code for each in few.stream.compiled.diagnostics] == ["too-many-steps"]


def test_limits_count_bytes_as_the_compiler_does() -> None:
    text = text_of({"id": "a", "tool": "read"}).replace("read", "r\u00e9\u00e9d" * 20)
    found = streamed(cut(text, 3), tools().toolbox, limits=Limits(text_bytes=len(text) + 3))
    assert [each.code for each in found.stream.compiled.diagnostics] == ["too-large"]


async def test_a_stream_is_given_once() -> None:
    text = text_of({"id": "a", "tool": "read"})
    stream = compile_stream(_chunks([text]), tools=tools().toolbox)
    assert [len([step async for step in stream]) for _ in range(2)] == [1, 0]


@pytest.mark.parametrize(
    "filling", ['"x": "' + "y" * 300_000 + '"', '"x": "' + "\\\\" * 150_000 + '"', " " * 300_000]
)
def test_each_character_is_looked_at_once(filling: str) -> None:
    """A text that were read anew for each chunk would take minutes."""
    args = "{" + filling + "}"
    text = '{"steps": [{"id": "a", "tool": "read", "args": ' + args + "}]}"
    found = streamed(cut(text, 5), tools().toolbox)
    assert [step.id for step in found.steps] == ["a"]
    thinking = "<think>" + filling + "</think>" + text_of({"id": "a", "tool": "read"})
    assert len(streamed(cut(thinking, 5), tools().toolbox).steps) == 1
    spaces = " " * 100_000
    late = spaces + "```json\n" + spaces + text_of({"id": "a", "tool": "read"}) + "```"
    assert len(streamed(cut(late, 5), tools().toolbox).steps) == 1


@pytest.mark.parametrize("dialect", STREAMED)
def test_no_step_costs_another_reading_of_the_steps_before_it(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many characters are read as there are, in whichever dialect."""
    read: list[int] = []
    before = json_text.read

    def counted(text: str, is_plan: IsPlan, limits: Limits | None = None) -> JsonText:
        read.append(len(text))
        return before(text, is_plan, limits)

    monkeypatch.setattr(json_text, "read", counted)
    box = tools().toolbox
    reads = [Step(f"s{at}", "read") for at in range(300)]
    text = to_text(Plan(tuple(reads)), dialect, box)
    stream = DIALECTS[dialect].stream(box.signatures)
    assert stream is not None
    read.clear()
    assert len([step for piece in cut(text, 7) for step in stream.feed(piece)]) == 300
    assert len(read) == 300
    assert sum(read) <= 2 * len(text)


def test_the_plan_is_asked_for_in_the_end_only() -> None:
    stream = compile_stream(_chunks([]), tools=tools().toolbox)
    with pytest.raises(RuntimeError, match="still being written"):
        _ = stream.compiled
    with pytest.raises(ToolplanError, match="no dialect 'esperanto'"):
        compile_stream(_chunks([]), "esperanto", tools=tools().toolbox)


async def test_a_stream_that_raises_passes_it_on_and_leaves_a_plan_that_is_cut_off() -> None:
    async def broken() -> AsyncIterator[str]:
        yield text_of({"id": "a", "tool": "read"})[:-3]
        raise ConnectionError("gone")

    stream = compile_stream(broken(), tools=tools().toolbox)
    with pytest.raises(ConnectionError):
        assert [step async for step in stream]
    assert stream.compiled.plan is None


async def test_reads_start_while_the_plan_is_written_and_effects_after_its_end() -> None:
    made = tools()
    text = text_of(
        {"id": "a", "tool": "read"}, {"id": "w", "tool": "write", "args": {"to": "${a.n}"}}
    )
    calls_at_end: list[int] = []

    async def written() -> AsyncIterator[str]:
        for chunk in cut(text, 20):
            yield chunk
            await asyncio.sleep(0)
        await made.started("read")
        calls_at_end.append(len(made.args_of("write")))

    plan = compile_plan(text, tools=made.toolbox).plan
    assert plan is not None
    stream = compile_stream(written(), tools=made.toolbox)
    done = await run_stream(stream, made.toolbox, approval=approve(plan))
    assert done.status is RunState.SUCCEEDED
    assert calls_at_end == [0]
    assert made.args_of("write") == [{"to": 1}]


async def test_a_stream_that_ends_early_runs_no_effect() -> None:
    made = tools()
    text = text_of({"id": "w", "tool": "write"}, {"id": "a", "tool": "read"})
    for written, refusal in ((text[:-2], StreamRefused), (text, ApprovalRequired)):
        with pytest.raises(refusal):
            await run_stream(compile_stream(_chunks([written]), tools=made.toolbox), made.toolbox)
    assert made.args_of("write") == []


def test_a_list_in_pages_waits_for_what_computes_with_it() -> None:
    """A later step may give it `pages`, and then it is not the step that would have started."""
    tools = ScriptedTools()
    pages: Json = {"page": {"type": "integer"}, "per_page": {"type": "integer"}}
    tools.add("list", Gives([]), input_schema={"type": "object", "properties": pages})
    tools.add("other", Gives([]))
    steps = [
        {"id": "o", "tool": "other"},
        {"id": "l", "tool": "list"},
        {"id": "c", "tool": "other", "args": {"ids": "${l[*].id}"}},
    ]
    text = json.dumps({"toolplan": 1, "steps": steps})
    found = streamed(cut(text, 7), tools.toolbox)
    assert [step.id for step in found.steps] == ["o"]
    assert found.disagreements() == ()
    compiled = found.stream.compiled.plan
    assert compiled is not None
    assert [step.pages for step in compiled.plan.steps] == [None, "all", None]
