"""How far a run is: a number that only grows, whatever happens in which order."""

from hypothesis import given
from hypothesis import strategies as st

from toolplan.events import (
    AttemptFailed,
    CallInDoubt,
    Event,
    Failure,
    ItemEnded,
    RunStarted,
    StepCancelled,
    StepFailed,
    StepProgressed,
    StepSkipped,
    StepStarted,
    StepSucceeded,
)
from toolplan.mcp_server._runs import Progress
from toolplan.plan.model import Plan, Step

FAILURE = Failure("tool-error", "no luck")
PLAN = Plan(steps=(Step(id="a", tool="look"), Step(id="b", tool="send")))

STEPS = st.sampled_from(["a", "b", "unknown"])
NUMBERS = st.floats(min_value=-10, max_value=10)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(StepStarted, STEPS, st.none() | st.integers(0, 5), st.just(0.0)),
    st.builds(ItemEnded, STEPS, st.integers(0, 5), st.none(), st.just(1), st.none(), st.just(0.0)),
    st.builds(StepProgressed, STEPS, NUMBERS, st.none() | NUMBERS, st.text(), st.just(0.0)),
    st.builds(StepSucceeded, STEPS, st.none(), st.just(1), st.none(), st.just(0.0)),
    st.builds(StepFailed, STEPS, st.just(FAILURE), st.just(1), st.just(0.0)),
    st.builds(StepSkipped, STEPS, st.just(FAILURE), st.just(0.0)),
    st.builds(StepCancelled, STEPS, st.just(0.0)),
    st.builds(AttemptFailed, STEPS, st.none(), st.just(1), st.just(FAILURE), st.just(0.0)),
    st.builds(
        CallInDoubt,
        STEPS,
        st.none(),
        st.just(1),
        st.just(FAILURE),
        st.just(0.0),
        args=st.none(),
        result=st.none(),
    ),
)


@given(events=st.lists(EVENTS, max_size=40))
def test_progress_only_grows_and_stays_within_its_total(events: list[Event]) -> None:
    progress = Progress(PLAN)
    progress.add(RunStarted("r", "d", ("a", "b"), 0.0))
    before = 0.0
    for event in events:
        progress.add(event)
        assert before <= progress.done <= progress.total == 2.0
        assert len(progress.message) <= 200
        before = progress.done


def test_a_run_is_acknowledged_only_when_something_happens_after_it_was_kept() -> None:
    progress = Progress(PLAN)
    progress.add(RunStarted("r", "d", ("a", "b"), 0.0))
    assert not progress.stored.is_set()
    progress.add(StepStarted("a", None, 0.0))
    assert progress.stored.is_set()
