"""The analysis of results, computed by `toolplan.answer`, and its text, by a model or computed.

Every number and identity that a model writes is looked up in the results, and marked if it is not
found (`toolplan.summary`). Without a model, or if it fails, the computed text is used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from toolplan.answer import Answer, InsightFunction, answer
from toolplan.events import Run
from toolplan.path import Json
from toolplan.plan import Plan as TypedPlan
from toolplan.providers import Model
from toolplan.summary.summariser import Summariser
from toolplan_adapters.clear.endpoint import Provider, Sleep, as_model
from toolplan_adapters.clear.executor import Execution
from toolplan_adapters.clear.settings import AnalyzerConfig, SummarizerConfig
from toolplan_adapters.clear.tools import ToolResult

NOTHING: Final = "No successful results to analyze"
_TRIES: Final = 2


class Analysis(Struct, frozen=True):
    """The analysis of a run's results.

    Attributes:
        summary: the main result, in a sentence.
        insights: findings about the rows, a sentence each.
        anomalies: problems of the run, a sentence each.
        text: all of it as text.
        answer: the same with its figures and their sources; None for a basic analysis.
        run: the run; None for a basic analysis.
        plan: the plan of the run; None for a basic analysis.
    """

    summary: str
    insights: tuple[str, ...] = ()
    anomalies: tuple[str, ...] = ()
    text: str = ""
    answer: Answer | None = None
    run: Run | None = None
    plan: TypedPlan | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the wire form."""
        return {
            "summary": self.summary,
            "insights": [*self.insights],
            "anomalies": [*self.anomalies],
            "answer": None if self.answer is None else self.answer.to_json(),
        }


class Analyzer:
    """Analyses the results of a plan."""

    def __init__(
        self,
        insights: Sequence[InsightFunction] = (),
        config: AnalyzerConfig | Mapping[str, object] | None = None,
    ) -> None:
        """Prepare the analysis.

        Args:
            insights: functions that know the domain (`toolplan.answer`).
            config: settings; a mapping may use either spelling of their names.

        Raises:
            SettingError: a setting does not exist, or its value is not valid.
        """
        self.config = AnalyzerConfig.of(config)
        self._insights = tuple(insights)

    def analyze(self, execution: Sequence[ToolResult]) -> Analysis:
        """Return the analysis of what `Executor.execute` returned.

        Of other lists of results only the steps are counted: their plan is not known.
        """
        if not isinstance(execution, Execution) or execution.plan is None or execution.run is None:
            return basic(execution)
        if not any(result.success for result in execution):
            return basic(execution)
        found = answer(
            execution.plan,
            execution.run,
            schemas=execution.schemas,
            insights=self._insights,
            thresholds=self.config.thresholds,
        )
        return Analysis(
            found.headline,
            tuple(insight.text for section in found.sections for insight in section.insights),
            tuple(problem.text for problem in found.problems),
            found.text,
            found,
            execution.run,
            execution.plan.plan,
        )


def basic(results: Sequence[ToolResult]) -> Analysis:
    """Return an analysis without the data: the steps that succeeded, and those that failed."""
    problems = tuple(
        f"Step {result.step_index} ({result.tool}): {result.error.message}"
        for result in results
        if result.error is not None
    )
    done = [result for result in results if result.success]
    summary = f"{len(done)} of {len(results)} steps succeeded." if done else NOTHING
    insights = tuple(f"{result.tool} gave {_size(result.data)}." for result in done)
    text = "\n".join((summary if done else f"{summary}.", *insights, *problems))
    return Analysis(summary, insights, problems, text)


def _size(data: Json) -> str:
    if isinstance(data, list):
        return f"{len(data)} row{'' if len(data) == 1 else 's'}"
    return "nothing" if data is None else "one record" if isinstance(data, dict) else "one value"


class Summarizer:
    """Puts analyses into words."""

    def __init__(
        self,
        llm_provider: Model | Provider | None = None,
        config: SummarizerConfig | Mapping[str, object] | None = None,
        *,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """Prepare the summariser.

        Args:
            llm_provider: a model, or an object with `generate`; None for computed text.
            config: settings; a mapping may use either spelling of their names.
            sleep: waits before a failed request is repeated.
        """
        self.config = SummarizerConfig.of(config)
        self._writer = Summariser(
            None if llm_provider is None else as_model(llm_provider, _TRIES, sleep),
            format=self.config.format,
            length=self.config.max_length,
            tone=self.config.tone,
            include_details=self.config.include_details,
            include_recommendations=self.config.include_recommendations,
        )

    async def summarize(self, analysis: Analysis) -> str:
        """Return the text for the user; a basic analysis is returned as it is."""
        if analysis.answer is None or analysis.run is None or analysis.plan is None:
            return analysis.text
        query = analysis.plan.metadata.get("query")
        question = query if isinstance(query, str) else ""
        written = await self._writer.summarise(analysis.answer, analysis.run, question)
        return written.text
