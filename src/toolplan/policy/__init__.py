"""Where the values of a plan come from, and where they may go: labels, policies, verdicts."""

from toolplan.policy.defaults import defaults_of
from toolplan.policy.draft import draft_policy
from toolplan.policy.guards import Guards, guards_of, objection
from toolplan.policy.labels import (
    PLAIN,
    Flow,
    FlowKind,
    Label,
    Need,
    Source,
    Standing,
    Trust,
    Verdict,
    least,
    picked,
)
from toolplan.policy.plan_flows import PlanFlows
from toolplan.policy.policy import Keys, Policy, PolicyError, parse_policy, place_of
from toolplan.policy.vouched import Fault, Vouched

__all__ = [
    "PLAIN",
    "Fault",
    "Flow",
    "FlowKind",
    "Guards",
    "Keys",
    "Label",
    "Need",
    "PlanFlows",
    "Policy",
    "PolicyError",
    "Source",
    "Standing",
    "Trust",
    "Verdict",
    "Vouched",
    "defaults_of",
    "draft_policy",
    "guards_of",
    "least",
    "objection",
    "parse_policy",
    "picked",
    "place_of",
]
