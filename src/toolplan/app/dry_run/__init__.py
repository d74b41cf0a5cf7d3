"""Dry runs: a plan simulated without calling a tool, on sample values made from the schemas."""

from toolplan.app.dry_run.report import (
    CallBounds,
    DryRun,
    EffectBounds,
    Fault,
    MayFail,
    Scenario,
    Unchecked,
    dry_document,
    dry_view,
)
from toolplan.app.dry_run.simulation import simulate

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
