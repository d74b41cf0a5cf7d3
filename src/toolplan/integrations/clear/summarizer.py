"""The summariser as Clear AI has it: an analysis in a model's words, or in computed ones.

Every figure, date and name that the model writes is compared with the results, and marked if it is
not found (`toolplan.summary`). Without a model, or if it fails, the computed text is used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from toolplan.integrations.clear.analysis import Analysis
from toolplan.integrations.clear.endpoint import Provider, Sleep, as_model
from toolplan.integrations.clear.settings import SummarizerConfig
from toolplan.providers import Model
from toolplan.summary.summariser import Summariser

_TRIES = 2


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
        if analysis.answer is None or analysis.run is None:
            return analysis.text
        summary = await self._writer.summarise(
            analysis.answer, analysis.run, analysis.question, plan=analysis.plan
        )
        return summary.text
