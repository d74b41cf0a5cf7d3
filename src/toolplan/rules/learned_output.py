"""The rule `learned-output`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan import schema as schemas
from toolplan.diagnostics import Severity, available, did_you_mean, near
from toolplan.plan import Ref, Step, located_refs
from toolplan.rules._context import PlanContext, Use
from toolplan.rules._rule import Problem, rule


@rule(Severity.WARNING)
def learned_output(context: PlanContext) -> Iterator[Problem]:
    """A reference selects something that the step's tool has not returned so far.

    The tool declares no output schema. In none of its earlier results was there such a part, or it
    had a type that the argument does not accept. Other results may have it, so this is a warning
    without a fix.

        "${search.items[*].id}"     in 12 results there was no field 'items'

    How to fix: look at what the tool returns (`toolplan show RUN`), or declare its output schema.
    """
    if not any(tool is not None and tool.learned is not None for tool in context.called.values()):
        return
    for use in context.uses:
        source = context.steps.get(use.ref.step)
        found = None if source is None else _seen(context, source, use.ref)
        if found is None:
            continue
        given, samples = found
        if isinstance(given, schemas.Absent):
            yield _absent(use.text, use.ref, given, samples, use.pointer, use.step.id)
        elif isinstance(given, schemas.Schema) and _cannot_fit(use, given):
            yield Problem(
                f"In {_results(samples)} {use.text} was {schemas.describe(given)}, which the"
                " argument does not accept.",
                use.pointer,
                use.step.id,
                "Refer to a part of the right type.",
            )
    if context.plan.output is not None:
        for pointer, ref in located_refs(context.plan.output, "/output"):
            source = context.steps.get(ref.step)
            found = None if source is None else _seen(context, source, ref)
            if found is not None and isinstance(found[0], schemas.Absent):
                yield _absent("The plan's output", ref, found[0], found[1], pointer, None)


def _seen(
    context: PlanContext, source: Step, ref: Ref
) -> tuple[schemas.Schema | schemas.Absent | None, int] | None:
    """Return what `ref` selected from the results of `source`'s tool, and how many there were."""
    tool = context.called.get(source.tool)
    if tool is None or tool.learned is None or context.output(source.id) is not None:
        return None
    schema = tool.learned_schema
    if schema is None:
        return None
    if source.for_each is not None:
        schema = schema.part({"type": "array", "items": schema.node})
    return schemas.at(schema, ref.path), tool.learned.samples


def _cannot_fit(use: Use, given: schemas.Schema) -> bool:
    taken = use.taken
    return (
        use.whole
        and isinstance(taken, schemas.Schema)
        and schemas.assignable(given, taken) is schemas.Verdict.NO
    )


def _absent(
    text: str, ref: Ref, absent: schemas.Absent, samples: int, pointer: str, step: str | None
) -> Problem:
    missed = [key for key in ref.path if isinstance(key, str) and key not in absent.names]
    meant = [name for key in missed for name in near(key, absent.names)]
    return Problem(
        f"{text} was missing in {_results(samples)}: {absent.message}.",
        pointer,
        step,
        did_you_mean(dict.fromkeys(meant)) or available("fields", absent.names),
    )


def _results(samples: int) -> str:
    return f"{samples} earlier result{'' if samples == 1 else 's'}"
