"""A plan that is still being written: each step as soon as it is there and nothing is wrong."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from functools import partial
from inspect import isasyncgen
from typing import Self

from toolplan.compiler._compile import Compiled, Tools, check, compile_plan, flows_of, toolbox
from toolplan.compiler.rules import Rule
from toolplan.compiler.rules.pages import may_get_pages
from toolplan.dialects import known_dialect
from toolplan.plan.model import Limits, Plan, Step, step_refs
from toolplan.policy import Policy, Verdict
from toolplan.schema.tool import Toolbox

_MOST_EXAMINED = 64
"""Maximum number of steps examined to check one: those that it refers to, and so on."""


def compile_stream(
    chunks: AsyncIterator[str],
    dialect: str = "toolplan",
    *,
    tools: Tools,
    limits: Limits = Limits(),
    policy: Policy = Policy(),
    rules: Sequence[Rule] | None = None,
) -> CompileStream:
    """Return the steps of a plan while its text comes in, and the compiled plan in the end.

    Iterate over it once. A step is returned, in the order written, when it is complete and no rule
    objects to it so far; a step that has to be fixed, and all after it, wait for the end. Steps
    that it refers to may still be unwritten. The check of the whole plan decides: a started step
    that is not in the plan, or differs there, has to be stopped (`toolplan.run_stream` does).

    `chunks` are the text, cut anywhere; each character is read once, and none beyond
    `limits.text_bytes`. A dialect that cannot stream (`Dialect.stream` returns None) has no step
    before the end. The other arguments are those of `compile_plan`.

    Raises:
        ToolplanError: there is no such dialect.
    """
    return CompileStream(chunks, dialect, toolbox(tools), limits, policy, rules)


class CompileStream:
    """The steps of a plan as they are written, and the compiled plan when the text has ended."""

    def __init__(
        self,
        chunks: AsyncIterator[str],
        dialect: str,
        tools: Toolbox,
        limits: Limits,
        policy: Policy,
        rules: Sequence[Rule] | None,
    ) -> None:
        self._chunks, self._tools, self._limits = chunks, tools, limits
        self._policy, self._rules = policy, rules
        self._compile = partial(
            compile_plan, dialect=dialect, tools=tools, limits=limits, policy=policy, rules=rules
        )
        self._reader = known_dialect(dialect).stream(tools.signatures, limits)
        self._given = self._give()
        self._pieces: list[str] = []
        self._steps: dict[str, Step] = {}
        self._compiled: Compiled | None = None

    @property
    def text(self) -> str:
        """The text that has arrived so far."""
        return "".join(self._pieces)

    @property
    def compiled(self) -> Compiled:
        """The result of the whole text.

        Raises:
            RuntimeError: the text has not ended.
        """
        if self._compiled is None:
            raise RuntimeError("The plan is still being written: iterate to the end first.")
        return self._compiled

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Step:
        return await anext(self._given)

    async def aclose(self) -> None:
        """Stop reading, and close the source of the text, where it can be closed."""
        await self._given.aclose()
        chunks: object = self._chunks
        if isasyncgen(chunks):
            await chunks.aclose()

    async def _give(self) -> AsyncGenerator[Step]:
        size = 0
        try:
            async for chunk in self._chunks:
                self._pieces.append(chunk)
                size += len(chunk.encode("utf-8", "surrogatepass"))
                if size > self._limits.text_bytes:
                    break  # the compiler reports that it is too large
                for step in self._complete(chunk):
                    yield step
        finally:
            self._compiled = self._compile(self.text)

    def _complete(self, text: str) -> Iterator[Step]:
        """Yield the steps that `text`, the next piece, completes."""
        if self._reader is None:
            return
        for step in self._reader.feed(text):
            is_full = len(self._steps) == self._limits.steps
            if is_full or step.id in self._steps or self._is_wrong(step):
                self._reader = None  # the rest is known when the plan is whole
                return
            self._steps[step.id] = step
            yield step

    def _is_wrong(self, step: Step) -> bool:
        """Return whether `step` must wait for the whole plan: a rule objects, or may change it.

        References to unwritten steps are allowed.
        """
        plan = Plan((*self._behind(step), step))
        for each in check(plan, self._tools, policy=self._policy, rules=self._rules):
            is_fixable = each.fix is not None and each.fix.safe
            if each.step == step.id and each.code != "unknown-step" and (is_fixable or each.blocks):
                return True
        tool = self._tools.get(step.tool)
        if tool is None or tool.has_effects:
            return False
        if may_get_pages(step, tool):
            return True  # a step that computes with its list may follow
        flows = flows_of(plan, self._tools, self._policy) if self._policy.has_flows else ()
        return any(f.step == step.id and f.verdict is not Verdict.ALLOW for f in flows)

    def _behind(self, step: Step) -> list[Step]:
        """Return the steps that `step` refers to, and the steps that their types depend on."""
        behind: dict[str, Step] = {}
        pending = [step]
        while pending and len(behind) < _MOST_EXAMINED:
            for _, ref in step_refs(pending.pop()):
                other = self._steps.get(ref.step)
                if other is not None and other.id not in behind:
                    behind[other.id] = other
                    tool = self._tools.get(other.tool)
                    if tool is not None and tool.compute_output is not None:
                        pending.append(other)
        return list(behind.values())
