"""Users: after a power loss a group consumes a queue all over again, or skips messages (apache/rocketmq 2181, 4215, 4219).

A group that waits for messages has them before they are flushed, and keeps its offset in memory. When the broker loses its power,
and with it the end of the queue, that offset lies beyond the end. What the broker answers then, and what has been sent meanwhile,
decides what the group gets.
"""

from __future__ import annotations

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import BrokerCrash, Fault, NoFault
from harness.model.incident import Sign
from harness.model.log_events import Logged, LogPattern
from harness.model.rules import Harm, Part, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from harness.model.unflushed import UnflushedTail
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import Side, claim, confirmed, control, fact, of, refuted, side

FEW_SENT, MANY_SENT, SYNC = "incident-few-sent", "incident-many-sent", "fix-sync-flush"
HISTORY, TAIL, FEW, MANY = 200, 30, 15, 60
"""Fewer messages than were lost come after the power loss, or more."""
HELD_S, RECOVER_S, DRAIN_S = 1.0, 15.0, 120.0
"""A client commits its offsets every 5 s: after 15 s the broker has the group's own again, whatever its disk had. The drain ends
when they are the queues' ends. A client of 4.x gives the pull that waited at the broker up after 30 s, waits for 10 s more before
it gives up a queue whose offset is refused, and has it again at its next rebalance, within 20 s. One of 5.x asks again at once."""

STORE = "org.apache.rocketmq.store"
GET = f"{STORE}.DefaultMessageStore.getMessage"
CORRECTED = f"{GET}, {STORE}.DefaultMessageStore.nextOffsetCorrection"
FLUSHED = f"{STORE}.CommitLog.GroupCommitService"

ALL_AGAIN = side(HISTORY / (HISTORY + TAIL), 0, "all that the queue still has, or nothing")
NONE_AGAIN = side(0, HISTORY / (HISTORY + TAIL), "nothing, or all that the queue still has")
ALL_SKIPPED = side(1, 0, "all messages that were sent since, or none")
SOME_SKIPPED = side(TAIL / MANY, 0, "as many as were lost, or none")
NONE_SKIPPED = side(0, TAIL / MANY, "none, or as many as were lost")
LOST, WHOLE = (
    side(TAIL, 0, "all that was not flushed, or nothing"),
    side(0, TAIL, "nothing, or all that was not flushed"),
)


def _again(arm: str, at: Side) -> Part:
    return fact(of("consumed_again_share", arm), at)


def _skipped(arm: str, at: Side) -> Part:
    return fact(of("skipped_after_share", arm), at)


def _lost(arm: str, at: Side = LOST) -> Part:
    return fact(of("past_end_count", arm), at)


FROM_ZERO = "of a queue that begins at 0 a group that asks beyond the end is told to begin at 0"
FROM_END = "a group that asks beyond the end is told to go on from the end"

X_01 = claim(
    "X-offset-past-the-end-01", "", "OFFSET_OVERFLOW_BADLY will lead to consumption from the beginning, a large number of repeated "
    "consumption.",
    reading=f"A broker loses its power when {TAIL} messages that a group has consumed are not flushed. It is back, nothing is "
    f"sent, and the group is given the {HISTORY} messages before those again.",
    expected=confirmed(FROM_ZERO, CORRECTED, ("4.6.0",)) | refuted(FROM_END, CORRECTED, ("4.9.7", *RELEASES_5X)),
    parts={
        "again": _again("incident", ALL_AGAIN),
        "lost": control(_lost("incident")),
        "without a power loss": control(_again("baseline", NONE_AGAIN)),
    },
    summary="After a power loss the group was given everything in the queue again {again}.",
    told=Told(
        weight=Weight.OTHER, harm=Harm.HOLDS,
        holds="an offset past the queue's end makes the group consume everything again",
        fails="an offset past the queue's end makes nothing be consumed again",
    ),
)  # fmt: skip

X_02 = claim(
    "X-offset-past-the-end-02", "", "nextBeginOffset = nextOffsetCorrection(offset, maxOffset): it is to go on from the end.",
    reading=f"{FEW} messages are stored after the power loss, before the group asks again. It is given none of them.",
    expected=refuted(f"{FROM_ZERO}, and gets what was sent since as well", CORRECTED, ("4.6.0",))
    | confirmed(f"{FROM_END}, which lies behind what was sent since", CORRECTED, ("4.9.7", *RELEASES_5X)),
    parts={
        "all skipped": _skipped(FEW_SENT, ALL_SKIPPED),
        "lost": control(_lost(FEW_SENT)),
        "without a power loss": control(_skipped("baseline", NONE_SKIPPED)),
    },
    summary="Messages that were sent before the group asked again were skipped {all skipped}.",
    told=Told(
        weight=Weight.OTHER,
        holds="a group whose offset is past the queue's end goes on from the end",
        fails="a group whose offset is past the queue's end does not go on from the end",
    ),
)  # fmt: skip

X_03 = claim(
    "X-offset-past-the-end-03", "", "Messages are skipped once the queue has grown beyond the old offset.",
    reading=f"{MANY} messages are stored before the group asks again, more than were lost. It is never given {TAIL} of them.",
    expected=confirmed("an offset that the queue has reached again is taken as it is", GET),
    parts={"as many skipped": _skipped(MANY_SENT, SOME_SKIPPED), "lost": control(_lost(MANY_SENT))},
    summary="Of the messages that were sent since, the group skipped as many as were lost {as many skipped}.",
)  # fmt: skip

X_04 = claim(
    "X-offset-past-the-end-04", "", "With flushDiskType=SYNC_FLUSH nobody is ahead of the broker's disk.",
    reading="With SYNC_FLUSH nothing that was consumed is lost; nothing is skipped or consumed again. A send takes a flush longer, "
    "which is shown, not judged.",
    expected=confirmed("a send is answered once its message was forced to disk", FLUSHED, RELEASES_4X)
    | confirmed("a send is answered once its message was forced to disk; one file is recovered from its beginning", FLUSHED,
                RELEASES_5X),
    parts={
        "none lost": _lost(SYNC, WHOLE), "none skipped": _skipped(SYNC, NONE_SKIPPED), "none again": _again(SYNC, NONE_AGAIN),
        "by default": control(_lost(FEW_SENT)),
    },
    summary="With SYNC_FLUSH an offset lay beyond the end {!none lost}, messages were skipped {!none skipped}, and some came again "
    "{!none again}.",
)  # fmt: skip

X_05 = claim(
    "X-offset-past-the-end-05", "", "Without a power loss a group gets every message, and once.",
    reading=f"While the broker lives, the {FEW} messages are all consumed, and none of those before is consumed again.",
    expected=confirmed("an offset within the queue is taken as it is", GET),
    parts={"none skipped": _skipped("baseline", NONE_SKIPPED), "none again": _again("baseline", NONE_AGAIN)},
    summary="Without a power loss messages were skipped {!none skipped}, and some came again {!none again}.",
)  # fmt: skip


def _arm(
    name: str,
    what: str,
    sent_back: int,
    trials: int,
    *,
    waits: bool = True,
    sync: bool = False,
    fault: Fault | None = None,
) -> Arm:
    return Arm(
        name=name, what=what, fault=fault or BrokerCrash(power=True),
        load=UnflushedTail(history=HISTORY, tail=TAIL, sent_back=sent_back, waits=waits),
        broker=BrokerSettings(store="loop-ext4", conf={"flushDiskType": "SYNC_FLUSH"} if sync else {}), trials=trials,
    )  # fmt: skip


SCENARIO = Scenario(
    name="offset-past-the-end",
    title="A power loss, and a group whose offset lies beyond the end of its queue",
    summary="A broker loses its power when a group has consumed messages that are not on disk yet. It comes back without them; "
    "nothing is sent, or fewer or more messages than were lost, before the group asks again.",
    symptom="After a power loss of a broker a group consumes a whole queue again (PULL_OFFSET_MOVED, newOffset=0), or "
    "is never given messages that are sent after it.",
    threads=("issues/2181", "issues/4215", "pull/4219"),
    faces={
        "the whole queue again, if nothing is sent meanwhile": "X-offset-past-the-end-01",
        "all that is sent meanwhile skipped, if it is less than was lost": "X-offset-past-the-end-02",
        "as much skipped as was lost, if more is sent": "X-offset-past-the-end-03",
    },
    advice="Compare what was sent since the broker's return with what was consumed, and set the group's offsets back "
    "where some is missing. flushDiskType=SYNC_FLUSH avoids it, for slower sends.",
    cures=("X-offset-past-the-end-04",),
    audited_as_itself="offsets-past-end",
    sign=Sign(
        pattern=LogPattern.OFFSET_PAST_END,
        events=(Logged.OFFSET_PAST_END,),
        because="a group asked for an offset beyond the end of its queue, which has lost its last messages: 4.6.0 has it "
        "begin at 0, newer releases at the end. One that the queue has reached again leaves no line",
    ),
    topology=Topology(name="single"),
    arms=(
        _arm("baseline", "The broker lives.", FEW, 2, waits=False, fault=NoFault()),
        _arm("incident", "The broker loses its power; nothing is sent after it.", 0, 3, waits=False),
        _arm(FEW_SENT, f"The same; {FEW} messages are sent before the group asks again.", FEW, 3),
        _arm(MANY_SENT, f"The same; {MANY} messages are sent before the group asks again.", MANY, 2),
        _arm(SYNC, f"The same with flushDiskType=SYNC_FLUSH and {FEW} messages.", FEW, 2, sync=True),
    ),
    phases=Phases(steady_s=0.0, hold_s_min=HELD_S, hold_s_max=HELD_S, recover_s=RECOVER_S, drain_s_max=DRAIN_S),
    claims=(X_01, X_02, X_03, X_04, X_05),
    budget=TrialBudget(trials=3, deployments=3),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=False,
    schedule="side by side",
    hiccup_ms_max=2000.0,
    cluster_per_trial=True,
    extra_measures=("send_took_ms",),
)  # fmt: skip
"""All is decided by code, the same in each deployment. The tail must be consumed and the power lost within 10 s of a flush."""
