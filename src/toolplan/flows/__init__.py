"""Where the values of a plan come from, and where they may go: labels, policies, verdicts."""

from toolplan.flows.defaults import defaults_of
from toolplan.flows.draft import draft_policy
from toolplan.flows.guards import Guards, guards_of, objection
from toolplan.flows.labels import (
    PLAIN,
    Flow,
    FlowKind,
    Label,
    Need,
    Source,
    Trust,
    Verdict,
    least,
    picked,
)
from toolplan.flows.plan_flows import PlanFlows
from toolplan.flows.policy import Keys, Policy, PolicyError, parse_policy, place_of
from toolplan.flows.vouched import Fault, Vouched

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
