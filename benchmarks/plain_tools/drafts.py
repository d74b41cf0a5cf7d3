"""Plans that two small models wrote for the plain tools, and what their check says of them.

`python -m benchmarks.plain_tools.drafts` counts the drafts in `drafts.json` that pass the check of
any plan: the wrong ones that `invented-literal` refuses, and the right ones. They are replies of
Qwen2.5-Coder-Instruct of 1.5 and 0.5 billion parameters (docs/models.md); a person wrote what is
right. No model is needed.
"""

from __future__ import annotations

import argparse
import json
from datetime import date
from pathlib import Path

from msgspec.structs import replace

import benchmarks.plain_tools.drafts as module
from benchmarks.plain_tools.tools import plain_tools
from toolplan.compiler import compile_plan
from toolplan.compiler._compile import about_question
from toolplan.dates import times_in


def main() -> None:
    """Count, and print the drafts that are judged wrongly."""
    argparse.ArgumentParser(description=module.__doc__).parse_args()
    path = Path(__file__).with_name("drafts.json")
    document, tools = json.loads(path.read_text(encoding="utf-8")), plain_tools()
    counts = {(right, refused): 0 for right in (True, False) for refused in (True, False)}
    today = document["today"]
    day = date.fromisoformat(today)
    for each in document["drafts"]:
        question = each["question"]
        draft = {"toolplan": 1, "steps": each["steps"]}
        compiled = compile_plan(draft, tools=tools, times=times_in(question, day))
        if compiled.plan is None:
            raise SystemExit(f"A draft does not pass the check of any plan: {question}")
        about = {"planner": "llm/any", "query": question, "reference_date": today}
        plan = replace(compiled.plan.plan, metadata=about)
        refused = bool(about_question(plan, tools, strict=True))
        counts[each["right"], refused] += 1
        if refused is each["right"]:
            verdict = "refused" if refused else "unnoticed"
            print(f"{each['model']} {verdict}: {question}\n  {json.dumps(each['steps'])}")
    print(
        f"wrong: {counts[False, True]} refused, {counts[False, False]} not;"
        f" right: {counts[True, True]} refused, {counts[True, False]} not"
    )


if __name__ == "__main__":
    main()
