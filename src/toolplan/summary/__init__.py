"""Summaries of answers, written by a model and checked against the results."""

from typing import TYPE_CHECKING

from toolplan.lazy import names_of

if TYPE_CHECKING:
    from toolplan.summary.form import Format
    from toolplan.summary.summariser import Summariser, Summary
else:
    __getattr__ = names_of(__name__, form="Format", summariser="Summariser Summary")

__all__ = ["Format", "Summariser", "Summary"]
