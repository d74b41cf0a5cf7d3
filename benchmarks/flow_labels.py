"""What the labels of a plan's flows cost, in CPU time, beside the check of the whole plan.

`python -m benchmarks.flow_labels [--json]` labels plans of 20 and of 10,000 steps under a policy:
mails, contacts, accounts, calls with effects and a `for_each`. Order and policy are read before.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Final

from toolplan.compiler import compile_plan
from toolplan.compiler.rules import PlanContext
from toolplan.plan.canonical import load
from toolplan.plan.path import Json
from toolplan.policy import Policy, parse_policy
from toolplan.schema.tool import Toolbox

ROUNDS: Final = {20: 400, 10_000: 5}
POLICY: Final = """
[trusted]
outputs = ["contacts", "accounts[*].iban", "accounts[*].due"]
[listed]
outputs = ["inbox[*].id"]
[sinks.send]
to = "trusted"
body = "plain"
[sinks.delete]
id = "listed"
[decide]
delete = "listed"
"""


def _tool(name: str, effects: str, takes: tuple[str, ...], gives: tuple[str, ...]) -> Json:
    text: Json = {"type": "string"}
    row: Json = {"type": "object", "properties": dict.fromkeys(gives, text)}
    return {
        "name": name,
        "input_schema": {"type": "object", "properties": dict.fromkeys(takes, text)},
        "output_schema": {"type": "array", "items": row},
        "annotations": {"effects": effects},
    }


TOOLS: Final = Toolbox.from_json(
    [
        _tool("inbox", "read", (), ("id", "sender", "text")),
        _tool("contacts", "read", ("name",), ("email",)),
        _tool("accounts", "read", (), ("iban", "due", "note")),
        _tool("send", "write", ("to", "body"), ()),
        _tool("delete", "write", ("id",), ()),
    ]
)


def document(steps: int) -> dict[str, Json]:
    """Return a plan of so many steps, a multiple of five."""
    found: list[Json] = []
    for n in range(steps // 5):
        name = f"${{a{n}[0].iban}}" if n % 2 else "Bob"
        body = f"Hello ${{m{n}[0].text}}, it is ${{a{n}[1].due}}."
        more: list[Json] = [
            {"id": f"m{n}", "tool": "inbox"},
            {"id": f"a{n}", "tool": "accounts"},
            {"id": f"c{n}", "tool": "contacts", "args": {"name": name}},
            {"id": f"s{n}", "tool": "send", "args": {"to": f"${{c{n}[0].email}}", "body": body}},
            {
                "id": f"d{n}",
                "tool": "delete",
                "for_each": f"${{m{n}}}",
                "args": {"id": "${item.id}"},
            },
        ]
        found += more
    return {"toolplan": 1, "steps": found}


def measure(steps: int, policy: Policy) -> dict[str, float]:
    """Return the microseconds of labels and of a whole check, the least of some rounds.

    Raises:
        RuntimeError: the plan has not the flows that it should have.
    """
    written = document(steps)
    plan = load(written).plan
    if plan is None:
        raise RuntimeError("The plan cannot be read.")
    labels = checks = float("inf")
    for _ in range(ROUNDS[steps]):
        context = PlanContext(plan, TOOLS, policy)
        _ = context.order, context.called, context.vouched.faults
        labels = min(labels, _cpu(lambda context=context: context.flows))
        if len(context.flows) != steps * 4 // 5:
            raise RuntimeError("The plan has other flows.")
        checks = min(checks, _cpu(lambda: compile_plan(written, tools=TOOLS, policy=policy)))
    return {"steps": steps, "labels_us": labels, "check_us": checks, "ratio": labels / checks}


def _cpu(work: Callable[[], object]) -> float:
    began = time.process_time_ns()
    work()
    return (time.process_time_ns() - began) / 1_000


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(prog="benchmarks.flow_labels", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    rows = [measure(steps, parse_policy(POLICY)) for steps in ROUNDS]
    if given.json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        print(
            f"{row['steps']:,} steps: labels {row['labels_us']:,.0f} us,"
            f" {row['labels_us'] / row['steps']:.1f} us a step,"
            f" {row['ratio']:.2f} of the check ({row['check_us']:,.0f} us)"
        )


if __name__ == "__main__":
    main()
