"""Verbs that demand an action, by the action; none of them asks for data.

Verbs of asking ("show", "list") and those that some tool may stand for ("create", "update",
"delete") are among the phrases. These here have no tool, and a plan that reads must
never stand for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Final

from toolplan.planners.grounded.language.words import key, phrase_list, word_set


class Action(StrEnum):
    """What a verb would do."""

    DESTROY = "destroy"
    PERFORM = "perform"
    """anything else that no tool does"""


_DESTROYING: Final = word_set("""
    delete remove erase purge wipe scrap drop trash discard destroy dump ditch eliminate
    eradicate expunge obliterate annihilate shred nuke raze kill zap axe scratch strike unlist
    unpublish prune truncate flush dispose bin junk scrub overwrite demolish incinerate burn
    deregister unregister void annul nullify cancel revoke rescind repeal invalidate withdraw
    retract abolish dissolve dismantle decommission evict expel oust eject clear empty vacate
    forget hide redact mask depose unlink detach uninstall terminate
    """)
_PERFORMING: Final = word_set("""
    stop halt close shut disable deactivate block ban bar suspend pause freeze lock quarantine
    isolate detain seize confiscate impound abort interrupt quit exit end finish complete expire
    reopen open enable activate unlock unblock unfreeze resume start restart launch begin
    initiate trigger relaunch boot reboot hold delay postpone defer kick power prevent avoid
    ignore skip exclude disconnect connect approve accept reject deny refuse decline authorise
    authorize sanction confirm endorse ratify certify validate verify sign countersign pass fail
    veto overrule resolve settle acknowledge escalate waive condemn grant permit allow forbid
    prohibit release downgrade upgrade promote demote send email mail e-mail notify inform alert
    warn remind message text phone call ping fax sms forward post publish tweet broadcast
    announce dispatch submit deliver relay invite share contact tell ask answer reply respond
    complain apologise apologize advertise export print download upload import copy duplicate
    clone backup back-up archive save store mirror sync synchronise synchronize convert
    translate transcribe format encrypt decrypt compress zip plot draw render paste embed attach
    move transfer relocate shift reroute redirect divert return ship transport carry convey give
    hand load unload reload bring take fetch put place migrate swap exchange trade donate lend
    borrow lease rent deport evacuate pack unpack park tow collect rename relabel replace
    substitute correct fix repair mend amend revise alter rewrite edit adjust increase decrease
    raise reduce lower double halve round cut extend shorten shrink expand enlarge grow scale
    tweak patch improve optimise optimize clean cleanse normalise normalize standardise
    standardize deduplicate dedupe merge combine join split divide separate reorder rearrange
    rework reset set reclassify recategorise recategorize redefine configure customise customize
    tune reword mix sort mark flag tag label assign reassign allocate reallocate delegate
    appoint designate categorise categorize classify prioritise prioritize rate grade score star
    pin bookmark annotate comment attribute link associate pair match map stamp number name
    schedule reschedule plan book reserve order purchase buy sell pay refund charge bill invoice
    debit credit reimburse compensate fine penalise penalize tax quote bid subscribe unsubscribe
    enrol enroll register hire fire sack recruit dismiss employ contract arrange organise
    organize prepare set-up request apply renew prolong audit sample test weigh measure process
    handle treat recycle bury sift dig build construct install erect assemble manufacture
    produce generate cook feed wash rinse dry paint drive fly sail visit travel meet attend
    execute run perform conduct make do implement deploy interview train teach hack attack
    exploit steal spoof bypass crash break damage ruin sabotage inject undo redo revert restore
    recover rollback roll reinstate undelete unarchive unmark unflag unassign retry rerun repeat
    reprocess predict forecast project extrapolate recommend suggest propose advise guess bet
    estimate simulate model watch monitor track observe supervise follow guard protect remember
    memorise memorize learn write compose draft
    """)
_DESTROYING_PHRASES: Final = phrase_list("""
    get rid of|rid of|throw away|throw out|clear out|clear away|clean out|clean up|take down
    |take away|take off|take out|cross out|cross off|strike out|strike off|rub out|wipe out
    |wash away|cut out|do away with|make disappear|write off|weed out|phase out|root out
    |toss out|kick out|chuck out|pull down|tear down|bring down|blow away|dispose of|lay off
    |rule out
    """)
_PERFORMING_PHRASES: Final = phrase_list("""
    leave out|filter out|call off|shut down|close down|turn off|turn on|turn down|turn away
    |switch off|switch on|put off|put on hold|hold back|hold off|break off|wind up|wind down
    |start up|kick off|sign off|let through|let in|wave through|send back|give up|give way
    |reach out|get in touch|pass on|pass along|send out|send off|hand out|give notice|ring up
    |call up|write to|tell them|back up|print out|write down|write out|save as|hand over|hand in
    |give away|give back|give over|bring back|bring over|bring in|take back|take over|take in
    |put back|put away|set aside|send over|drop off|pick up|carry over|ship out|move out
    |move over|check in|check out|swap out|pull back|pull over|fill in|fill up|sort out|tidy up
    |speed up|slow down|scale up|scale down|sign up|line up|follow up on|roll back|put right
    |set right|keep track|keep an eye|keep me posted|look after|watch out
    """)

_IRREGULAR: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "send": ("sent",), "hold": ("held",), "take": ("took", "taken"), "give": ("gave", "given"),
        "bring": ("brought",), "make": ("made",), "do": ("did", "done"), "run": ("ran",),
        "write": ("wrote", "written"), "overwrite": ("overwrote", "overwritten"),
        "put": (), "set": (), "cut": (), "shut": (), "hide": ("hid", "hidden"),
        "freeze": ("froze", "frozen"), "unfreeze": ("unfroze", "unfrozen"), "sell": ("sold",),
        "buy": ("bought",), "pay": ("paid",), "lend": ("lent",), "tell": ("accounted",),
        "break": ("broke", "broken"), "steal": ("stole", "stolen"), "burn": ("burnt",),
        "build": ("built",), "strike": ("struck",), "forget": ("forgot", "forgotten"),
        "withdraw": ("withdrew", "withdrawn"), "undo": ("undid", "undone"),
        "fly": ("flew", "flown"), "drive": ("drove", "driven"), "split": (), "begin": ("began",),
    }
)  # fmt: skip


def participles_of(verb: str) -> Iterator[str]:
    """Yield the forms of `verb` as "done"."""
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


def gerunds_of(verb: str) -> Iterator[str]:
    """Yield the forms of `verb` as "doing" it."""
    yield verb.removesuffix("e") + "ing"
    yield verb + verb[-1] + "ing"


IMPERATIVE_VERBS: Final[Mapping[str, Action]] = MappingProxyType(
    dict.fromkeys(_DESTROYING, Action.DESTROY) | dict.fromkeys(_PERFORMING, Action.PERFORM)
)
"""Each verb in its base form, with its action."""

PHRASAL: Final[Mapping[tuple[str, ...], Action]] = MappingProxyType(
    {
        tuple(phrase.split()): action
        for action, phrases in (
            (Action.DESTROY, _DESTROYING_PHRASES),
            (Action.PERFORM, _PERFORMING_PHRASES),
        )
        for phrase in phrases
    }
)
"""Verbs of several words. Their object may stand behind the first word."""


_VERB_OF: Final = {form: verb for verb, forms in _IRREGULAR.items() for form in forms}


def gerund(text: str) -> Action | None:
    """Return what "doing" it does, None where `text` is no such form of one of the verbs."""
    bare = text.removesuffix("ing")
    return None if bare == text else _action(text, (bare, bare + "e", bare[:-1]), gerunds_of)


def participle(text: str) -> Action | None:
    """Return what makes a thing "done", None where `text` is no such form of one of the verbs."""
    verbs = (_VERB_OF.get(text, ""), text[:-1], text[:-2], text[:-3], text[:-3] + "y")
    return _action(text, verbs, participles_of)


def _action(
    text: str, verbs: Iterable[str], forms: Callable[[str], Iterable[str]]
) -> Action | None:
    found = (verb for verb in verbs if verb in IMPERATIVE_VERBS and text in forms(verb))
    verb = next(found, None)
    return None if verb is None else IMPERATIVE_VERBS[verb]


@cache
def words_of_destroying() -> frozenset[str]:
    """Return all forms of the verbs of destroying, as keys, and the nouns for what they do."""
    verbs = frozenset(
        key(form)
        for verb in _DESTROYING
        for form in (verb, *gerunds_of(verb), *participles_of(verb), verb + "s")
    )
    return verbs | word_set("""
        deletion removal erasure cancellation destruction annulment revocation elimination
        eradication invalidation
        """)
