"""Dry runs: a plan simulated without calling a tool, on sample values made from the schemas."""

from typing import TYPE_CHECKING

from toolplan.lazy import names_of

if TYPE_CHECKING:
    from toolplan.dry_run.report import DryRun, dry_document, dry_view
    from toolplan.dry_run.scenarios import (
        CallBounds,
        EffectBounds,
        Fault,
        MayFail,
        Scenario,
        Unchecked,
    )
    from toolplan.dry_run.simulation import simulate
else:
    __getattr__ = names_of(
        __name__,
        report="DryRun dry_document dry_view",
        scenarios="CallBounds EffectBounds Fault MayFail Scenario Unchecked",
        simulation="simulate",
    )

__all__ = [
    "CallBounds",
    "DryRun",
    "EffectBounds",
    "Fault",
    "MayFail",
    "Scenario",
    "Unchecked",
    "dry_document",
    "dry_view",
    "simulate",
]
