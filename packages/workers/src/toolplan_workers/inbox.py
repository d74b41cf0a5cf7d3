"""Messages to a run, read by the worker that has it: each message gets an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct, ValidationError, convert

from toolplan.engine import Decided
from toolplan.plan.path import Json
from toolplan.policy.consent import Consent
from toolplan.storage.journal import Recovered, Slot
from toolplan.storage.journal.worker_runs import COUNTED
from toolplan_workers.queue.dispatch import Message

_DECIDES: Final = ("approve", "decide", "consent")
_NEWER: Final = "refused: a newer program sent it."


class _Decision(Struct):
    """The content of `decide`: the decision about a call in doubt."""

    step: str
    item: int | None
    attempt: int
    decision: Literal["retry", "resolve", "abort"]
    output: Any = None


class _Consents(Struct):
    """The content of `consent`: whether calls, by item and digest, may be made."""

    step: str
    allowed: bool
    reason: str
    calls: Annotated[list[tuple[int | None, str]], Meta(min_length=1)]


class Read(Struct, frozen=True):
    """The combined effect of the messages of a run.

    Attributes:
        is_approved: a person approves the plan.
        decisions: the decisions about calls in doubt.
        consents: by step, whether its calls that wait may be made.
        is_cancelled: the run is to be cancelled.
        by: the person who approves and decides.
        is_more: another person has decided too, which is read when this was obeyed.
        counted: the answers to the messages that count, by number, once they have been obeyed.
        refused: the answers to the others.
    """

    is_approved: bool
    decisions: Mapping[Slot, Decided]
    consents: Mapping[str, Consent]
    is_cancelled: bool
    by: str
    is_more: bool
    counted: Sequence[tuple[int, str]]
    refused: Sequence[tuple[int, str]]


def read_messages(
    messages: Sequence[Message], digest: str, recovered: Recovered, effects: bool
) -> Read:
    """Return the effect of `messages` on a run of the plan `digest` in the state `recovered`.

    The journal has one name for the decisions of a time: the first person's messages count, and
    those of others stay unread.
    """
    counted: list[tuple[int, str]] = []
    refused: list[tuple[int, str]] = []
    decisions: dict[Slot, Decided] = {}
    consents: dict[str, Consent] = {}
    is_approved = is_cancelled = is_more = False
    by: str | None = None
    for message in messages:
        why = ""
        if message.kind in _DECIDES and by not in (None, message.who):
            is_more = True
            continue
        match message.kind, message.content:
            case "approve", _ if recovered.staged is not None:
                why = "refused: the calls of this run are approved one by one, with their values."
            case "approve", str(given) if given == digest and effects:
                is_approved = True
            case "approve", str(given) if given != digest:
                why = f"refused: it approves the plan {given}, and this is {digest}."
            case "approve", _:
                why = "refused: the plan changes nothing, and needs no approval."
            case "decide", content:
                why = _decide(content, recovered, decisions)
            case "consent", content:
                why = _consent(content, recovered, consents)
            case "cancel", _:
                is_cancelled = True
            case "resume", _:
                pass
            case _:
                why = _NEWER
        if message.kind in _DECIDES and not why:
            by = message.who
        (refused if why else counted).append((message.number, why or COUNTED))
    return Read(is_approved, decisions, consents, is_cancelled, by or "", is_more, counted, refused)


def _decide(content: Json, recovered: Recovered, decisions: dict[Slot, Decided]) -> str:
    """Add a decision; return the reason for refusing it, or "".

    It is about one attempt: a person who has decided about one knows nothing of the next.
    """
    try:
        given = convert(content, _Decision)
    except ValidationError:
        return _NEWER
    slot: Slot = (given.step, given.item)
    place = f"{given.step!r}" if given.item is None else f"{given.step!r}, item {given.item}"
    if recovered.intents.get(slot) != given.attempt:
        return f"refused: the call of {place} is not in doubt any more, or another one is."
    if slot in decisions:
        return f"refused: an earlier message decides about the call of {place}."
    if slot not in recovered.decisions:  # else an earlier worker has obeyed it
        decisions[slot] = Decided(given.decision, given.output)
    return ""


def _consent(content: Json, recovered: Recovered, consents: dict[str, Consent]) -> str:
    """Add the decision about calls that wait; return the reason for refusing it, or "".

    It is about the calls that the person was shown, and about no other.
    """
    try:
        given = convert(content, _Consents)
    except ValidationError:
        return _NEWER
    step, shown = given.step, dict(given.calls)
    for each in recovered.consents:  # an earlier worker may have obeyed it
        same = each.step == step and each.allowed == given.allowed
        if same and shown.items() <= dict(each.calls).items():
            return ""
    if step in consents:
        return f"refused: an earlier message decides about the calls of {step!r}."
    waiting = {slot[1]: each.digest for slot, each in recovered.waiting.items() if slot[0] == step}
    if not shown.items() <= waiting.items():
        return f"refused: the calls of {step!r} that were shown do not wait any more."
    consents[step] = Consent(given.allowed, given.reason, shown)
    return ""
