"""One life of a run: a process that begins it, or resumes it, and may be killed at a point."""

import asyncio
import json
import os
import random
import signal
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from tests.crash import plans
from tests.crash.ledger import Client
from tests.crash.person import Person
from tests.crash.stream import PlanStream
from toolplan import ExecutionPlan, current_call
from toolplan.engine import Decided, resume, run, run_stream
from toolplan.events import Event, RunApproved
from toolplan.plan.path import Json
from toolplan.policy.approval import Approval, Approver, approve
from toolplan.policy.consent import Consent, ValueApproval
from toolplan.schema.tool import Arguments, Call, ToolError
from toolplan.storage.journal import Journal, Lease, RunRecord, Slot, Store, open_journal
from toolplan.storage.journal.blobs import Blobs

FAILED: Final = 70
"""The exit code of a life that ended with an exception."""


class Points:
    """The places where a life may be killed: at the one of a number, or the first of a label."""

    def __init__(self, kill_at: int | str | None) -> None:
        self.labels: list[str] = []
        self._kill_at = kill_at

    def hit(self, label: str) -> None:
        """Come to a place; it may be the last."""
        self.labels.append(label)
        if self._kill_at in (len(self.labels), label):
            self.die(label)

    def die(self, label: str) -> None:
        """Be killed here."""
        os.write(2, label.encode())  # standard error leads to the parent
        os.kill(os.getpid(), signal.SIGKILL)


class _Blobs(Blobs):
    def __init__(self, folder: Path, points: Points) -> None:
        super().__init__(folder)
        self._points = points
        self._partial = folder / f"half.{os.getpid()}.part"

    def write(self, text: str) -> str:
        self._points.hit("blob: before it is written")
        self.folder.mkdir(exist_ok=True)
        self._partial.write_text(text[: len(text) // 2])
        self._points.hit("blob: half is written")
        self._partial.unlink()
        name = super().write(text)
        self._points.hit("blob: written, its record is not")
        return name


class _Watched:
    """A journal with places to be killed at before and after all that it writes."""

    def __init__(self, journal: Store, points: Points) -> None:
        self._journal = journal
        self._points = points

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def accept(
        self, run: str, digest: str, record: RunRecord, events: Sequence[Event], sync: bool = True
    ) -> Lease:
        self._points.hit("accept: before")
        lease = self._journal.accept(run, digest, record, events, sync=sync)
        self._points.hit("accept: after")
        return lease

    def append(self, lease: Lease, texts: Sequence[str], at: int, **how: Any) -> None:
        kinds = dict.fromkeys(_kind(text) for text in texts)
        for kind in kinds:
            self._points.hit(f"{kind}: before it is on disk")
        self._journal.append(lease, texts, at, **how)
        for kind in kinds:
            self._points.hit(f"{kind}: on disk")

    def approve(self, lease: Lease, event: RunApproved, at: int) -> None:
        self._points.hit("approval: before it is on disk")
        self._journal.approve(lease, event, at)
        self._points.hit("approval: on disk")

    def take(self, run: str, watched: tuple[int, float] | None = None) -> Lease:
        self._points.hit("take over: before")
        lease = self._journal.take(run, watched)
        self._points.hit("take over: after")
        return lease

    def release(self, lease: Lease) -> None:
        self._points.hit("release: before")
        self._journal.release(lease)
        self._points.hit("release: after")


def _opened(place: str, points: Points) -> Store:
    """Open the journal at `place` with places to be killed at."""
    journal = open_journal(place)
    if isinstance(journal, Journal):
        folder = Path(f"{place}-blobs")
        journal._driver.blobs = _Blobs(folder, points)  # pyright: ignore[reportPrivateUsage]
    return cast("Store", _Watched(journal, points))


class Life(NamedTuple):
    """What a process is to do.

    `place` is that of the journal. `begins` says that the run is not in the journal yet, `streamed`
    that it begins while its plan is being written. Where a `person` approves calls with their
    values, `consents` is what was decided elsewhere.
    """

    run: str
    plan: ExecutionPlan
    place: str
    address: str
    seed: int
    begins: bool
    streamed: bool
    decisions: Mapping[Slot, Decided]
    kill_at: int | str | None
    person: Person | None = None
    consents: Mapping[str, Consent] = {}


class Ended(NamedTuple):
    """How a life ended: by being killed at `label`, or with all the labels that it came to."""

    killed: str | None
    labels: list[str]
    error: str


def live(life: Life) -> Ended:
    """Return how a new process did with `life`."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        os.dup2(writing, 2)
        code = FAILED
        try:
            os.write(2, b"\n" + json.dumps(_live(life)).encode())
            code = 0
        except BaseException:
            os.write(2, b"\n" + traceback.format_exc().encode())
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        text = said.read().decode()
    _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGKILL:
        return Ended(text, [], "")
    if code == 0:
        return Ended(None, json.loads(text.rpartition("\n")[2]), "")
    return Ended(None, [], text)


def _live(life: Life) -> list[str]:
    points = Points(life.kill_at)
    chance = random.Random(life.seed)
    client = Client(life.address)
    tools = plans.toolbox(lambda name: _call(name, client, points, chance))
    journal = _opened(life.place, points)

    async def approver(plan: ExecutionPlan) -> Approval:
        points.hit("approval: asked for")
        await asyncio.sleep(0)
        return approve(plan)

    approval: Approval | Approver | ValueApproval = approver
    if life.person is not None:
        # who approves plans answers no question about values, where the run has begun with these
        if life.begins or chance.random() < 0.8:
            approval = life.person.approval(client, points.hit, chance, life.run)
    elif life.begins and life.streamed and chance.random() < 0.3:
        # it may be there before the plan is, as of one that was approved at another time
        approval = approve(life.plan)

    async def body() -> None:
        if life.begins and life.streamed:
            await run_stream(
                PlanStream(life.plan, chance, points.hit),
                tools,
                journal=journal,
                approval=approval,
                run_id=life.run,
                backoff_s=0.001,
            )
        elif life.begins:
            await run(
                life.plan,
                tools,
                journal=journal,
                approval=approval,
                run_id=life.run,
                backoff_s=0.001,
            )
        else:
            await resume(
                life.plan,
                tools,
                life.run,
                journal=journal,
                approval=approval,
                decisions=life.decisions,
                consents=life.consents,
                backoff_s=0.001,
            )

    asyncio.run(body())
    journal.close()
    return points.labels


def _call(name: str, client: Client, points: Points, chance: random.Random) -> Call:
    async def call(args: Arguments) -> Json:
        made = current_call()
        assert made is not None
        points.hit(f"call: {name} begins")
        await asyncio.sleep(chance.random() * 0.002)
        client.record(name, made, dict(args))
        points.hit(f"effect: {name} has done its work")
        await asyncio.sleep(chance.random() * 0.002)
        points.hit(f"call: {name} answers")
        if name == "flaky" and made.attempt == 1:
            raise ToolError("Not at the first try.")
        return plans.compute(name, args)

    return call


def _kind(text: str) -> str:
    return str(text.partition('"')[2].partition('"')[0])
