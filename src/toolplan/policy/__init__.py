"""Where the values of a plan come from, and where they may go: labels, policies, verdicts."""

from toolplan.policy.defaults import defaults_of as defaults_of
from toolplan.policy.draft import draft_policy as draft_policy
from toolplan.policy.guards import Guards as Guards
from toolplan.policy.guards import guards_of as guards_of
from toolplan.policy.guards import objection as objection
from toolplan.policy.labels import PLAIN as PLAIN
from toolplan.policy.labels import Flow as Flow
from toolplan.policy.labels import FlowKind as FlowKind
from toolplan.policy.labels import Label as Label
from toolplan.policy.labels import Need as Need
from toolplan.policy.labels import Source as Source
from toolplan.policy.labels import Standing as Standing
from toolplan.policy.labels import Trust as Trust
from toolplan.policy.labels import Verdict as Verdict
from toolplan.policy.labels import least as least
from toolplan.policy.labels import picked as picked
from toolplan.policy.plan_flows import PlanFlows as PlanFlows
from toolplan.policy.policy import Keys as Keys
from toolplan.policy.policy import Policy as Policy
from toolplan.policy.policy import PolicyError as PolicyError
from toolplan.policy.policy import parse_policy as parse_policy
from toolplan.policy.policy import place_of as place_of
from toolplan.policy.vouched import Fault as Fault
from toolplan.policy.vouched import Vouched as Vouched
