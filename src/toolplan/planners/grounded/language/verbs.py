"""Verbs that demand an action, by the action; none of them asks for data.

Verbs of asking ("show", "list") and those that some tool may stand for ("create", "update",
"delete") are among the phrases. These here have no tool, and a plan that reads must
never stand for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from toolplan.planners.grounded.language.words import key, word_set


class Action(StrEnum):
    """What a verb would do; the value completes "nothing here …"."""

    DESTROY = "deletes or destroys"
    STOP = "stops, closes or blocks"
    DECIDE = "approves, accepts or rejects"
    SEND = "sends or notifies"
    COPY = "exports, prints or copies"
    MOVE = "moves or hands over"
    CHANGE = "changes things in this way"
    LABEL = "labels or assigns"
    ARRANGE = "schedules, orders or pays"
    PERFORM = "does work in the world"
    UNDO = "undoes or restores"
    LEARN = "watches, predicts or advises"


_VERBS: Final[dict[Action, str]] = {
    Action.DESTROY: """
        delete remove erase purge wipe scrap drop trash discard destroy dump ditch eliminate
        eradicate expunge obliterate annihilate shred nuke raze kill zap axe scratch strike unlist
        unpublish prune truncate flush dispose bin junk scrub overwrite demolish incinerate burn
        deregister unregister void annul nullify cancel revoke rescind repeal invalidate withdraw
        retract abolish dissolve dismantle decommission evict expel oust eject clear empty vacate
        forget hide redact mask depose unlink detach uninstall terminate
    """,
    Action.STOP: """
        stop halt close shut disable deactivate block ban bar suspend pause freeze lock quarantine
        isolate detain seize confiscate impound abort interrupt quit exit end finish complete expire
        reopen open enable activate unlock unblock unfreeze resume start restart launch begin
        initiate trigger relaunch boot reboot hold delay postpone defer kick power prevent avoid
        ignore skip exclude disconnect connect
    """,
    Action.DECIDE: """
        approve accept reject deny refuse decline authorise authorize sanction confirm endorse
        ratify certify validate verify sign countersign pass fail veto overrule resolve settle
        acknowledge escalate waive condemn grant permit allow forbid prohibit clear release
        downgrade upgrade promote demote
    """,
    Action.SEND: """
        send email mail e-mail notify inform alert warn remind message text phone call ping fax sms
        forward post publish tweet broadcast announce dispatch submit deliver relay invite share
        contact tell ask answer reply respond complain apologise apologize advertise
    """,
    Action.COPY: """
        export print download upload import copy duplicate clone backup back-up archive save store
        dump mirror sync synchronise synchronize convert translate transcribe format encrypt
        decrypt compress zip plot draw render paste embed attach
    """,
    Action.MOVE: """
        move transfer relocate shift reroute redirect divert return ship transport carry
        deliver convey give hand load unload reload bring take fetch put place migrate pass swap
        exchange trade donate lend borrow lease rent deport evacuate pack unpack park tow collect
    """,
    Action.CHANGE: """
        rename relabel replace substitute correct fix repair mend amend revise alter rewrite edit
        adjust increase decrease raise reduce lower double halve round cut extend shorten shrink
        expand enlarge grow scale tweak patch improve optimise optimize clean cleanse
        normalise normalize standardise standardize deduplicate dedupe merge combine join split
        divide separate reorder rearrange rework reset set reclassify recategorise recategorize
        redefine configure customise customize tune reword mix sort
    """,
    Action.LABEL: """
        mark flag tag label assign reassign allocate reallocate delegate appoint designate
        categorise categorize classify prioritise prioritize rate grade score star pin bookmark
        annotate comment attribute link associate pair match map stamp number name
    """,
    Action.ARRANGE: """
        schedule reschedule plan book reserve order reorder purchase buy sell pay refund charge bill
        invoice debit credit reimburse compensate fine penalise penalize tax quote bid subscribe
        unsubscribe enrol enroll register hire fire sack recruit dismiss employ contract arrange
        organise organize prepare set-up request apply renew prolong
    """,
    Action.PERFORM: """
        audit sample test weigh measure process handle treat recycle burn bury sift
        dig build construct install erect assemble manufacture produce generate cook feed wash
        rinse dry paint drive fly sail visit travel meet attend execute run perform conduct
        carry make do implement deploy interview train teach hack attack exploit steal spoof bypass
        crash break damage ruin sabotage inject
    """,
    Action.UNDO: """
        undo redo revert restore recover rollback roll reinstate undelete unarchive unmark unflag
        unassign retry rerun repeat reprocess
    """,
    Action.LEARN: """
        predict forecast project extrapolate recommend suggest propose advise guess bet estimate
        simulate model optimise optimize watch monitor track observe supervise follow guard protect
        remember memorise memorize learn write compose draft
    """,
}

_PHRASES: Final[dict[Action, str]] = {
    Action.DESTROY: """
        get rid of|rid of|throw away|throw out|clear out|clear away|clean out|clean up|take down
        |take away|take off|take out|cross out|cross off|strike out|strike off|rub out|wipe out
        |wash away|cut out|do away with|make disappear|write off|weed out|phase out|root out
        |toss out|kick out|chuck out|pull down|tear down|bring down|blow away|dispose of|lay off
        |leave out|rule out|filter out
    """,
    Action.STOP: """
        call off|shut down|close down|turn off|turn on|turn down|turn away|switch off|switch on
        |put off|put on hold|hold back|hold off|break off|wind up|wind down|start up|kick off
    """,
    Action.DECIDE: "sign off|let through|let in|wave through|send back|give up|give way",
    Action.SEND: """
        reach out|get in touch|pass on|pass along|send out|send off|hand out|give notice|ring up
        |call up|write to|tell them
    """,
    Action.COPY: "back up|print out|write down|write out|save as",
    Action.MOVE: """
        hand over|hand in|give away|give back|give over|bring back|bring over|bring in|take back
        |take over|take in|put back|put away|set aside|send over|drop off|pick up|carry over
        |ship out|move out|move over|check in|check out|swap out|pull back|pull over
    """,
    Action.CHANGE: """
        leave out|filter out|fill in|fill up|sort out|tidy up|speed up|slow down|scale up|scale down
    """,
    Action.ARRANGE: "sign up|line up|follow up on",
    Action.UNDO: "roll back|put right|bring back|set right",
    Action.LEARN: "keep track|keep an eye|keep me posted|look after|watch out",
}

_IRREGULAR: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "send": ("sent",), "hold": ("held",), "take": ("took", "taken"), "give": ("gave", "given"),
        "bring": ("brought",), "make": ("made",), "do": ("did", "done"), "run": ("ran",),
        "write": ("wrote", "written"), "overwrite": ("overwrote", "overwritten"),
        "put": (), "set": (), "cut": (), "shut": (), "hide": ("hid", "hidden"),
        "freeze": ("froze", "frozen"), "unfreeze": ("unfroze", "unfrozen"), "sell": ("sold",),
        "buy": ("bought",), "pay": ("paid",), "lend": ("lent",), "tell": ("told",),
        "break": ("broke", "broken"), "steal": ("stole", "stolen"), "burn": ("burnt",),
        "build": ("built",), "strike": ("struck",), "forget": ("forgot", "forgotten"),
        "withdraw": ("withdrew", "withdrawn"), "undo": ("undid", "undone"),
        "fly": ("flew", "flown"), "drive": ("drove", "driven"), "split": (), "begin": ("began",),
    }
)  # fmt: skip

DESTROYED: Final = word_set("""
    deletion removal erasure cancellation destruction annulment revocation elimination eradication
    invalidation
    """)
"""Nouns for what a verb of destroying does."""


def _bases() -> dict[str, Action]:
    found: dict[str, Action] = {}
    for action, text in _VERBS.items():
        for verb in text.split():
            found.setdefault(verb, action)
    return found


def _phrases() -> dict[tuple[str, ...], Action]:
    return {
        tuple(phrase.split()): action
        for action, text in _PHRASES.items()
        for phrase in text.split("|")
    }


def _participles(verb: str) -> Iterator[str]:
    yield from _IRREGULAR.get(verb, ())
    if verb in _IRREGULAR:
        return
    if verb.endswith("e"):
        yield verb + "d"
    elif verb.endswith("y") and verb[-2:-1] not in tuple("aeiou"):
        yield verb[:-1] + "ied"
    else:
        yield verb + "ed"
        yield verb + verb[-1] + "ed"


def _gerunds(verb: str) -> Iterator[str]:
    yield verb.removesuffix("e") + "ing"
    yield verb + verb[-1] + "ing"


IMPERATIVE_VERBS: Final[Mapping[str, Action]] = MappingProxyType(_bases())
"""Each verb in its base form, with its action."""

PHRASAL: Final[Mapping[tuple[str, ...], Action]] = MappingProxyType(_phrases())
"""Verbs of several words. Their object may stand behind the first word."""

GERUNDS: Final[Mapping[str, Action]] = MappingProxyType(
    {form: action for verb, action in IMPERATIVE_VERBS.items() for form in _gerunds(verb)}
)
"""Each verb as "doing" it."""

PARTICIPLES: Final[Mapping[str, Action]] = MappingProxyType(
    {form: action for verb, action in IMPERATIVE_VERBS.items() for form in _participles(verb)}
)
"""Each verb as "done"."""

DESTROYING: Final = (
    frozenset(
        key(form)
        for verb, action in IMPERATIVE_VERBS.items()
        if action is Action.DESTROY
        for form in (verb, *_gerunds(verb), *_participles(verb), verb + "s")
    )
    | DESTROYED
)
"""All forms of the verbs of destroying, as keys."""
