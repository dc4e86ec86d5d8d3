"""Users: sends are acknowledged, and nobody gets them (apache/rocketmq 7902, 1613).

A message is acknowledged when it is in the commit log. Consumers find it when a thread of its own, ReputMessageService, has put its
place into the consume queue. What that thread does not catch ends it.
"""

from __future__ import annotations

from harness.model.cluster import Topology
from harness.model.faults import DispatchThrows, Fault, NoFault
from harness.model.loads import DelayedMessages
from harness.model.rules import Harm, Part, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import Side, claim, confirmed, control, fact, of, refuted, side

EXCEPTION, RESTART = "incident-exception", "fix-restart"
STORE = "org.apache.rocketmq.store.DefaultMessageStore"
LOG = "org.apache.rocketmq.store.CommitLog"
REPUT = f"{STORE}.ReputMessageService"

EVERY = side(1, 0, "all messages of after the failure, or none")
NONE = side(0, 1, "none of the messages of after the failure, or all")


def _missing(arm: str, at: Side, by: str = "hold") -> Part:
    return fact(of("undelivered_share", arm, level=0, by=by), at)


def _accepted(arm: str) -> Part:
    return fact(of("unaccepted_after_share", arm, after="fault"), NONE)


def _again(arm: str) -> Part:
    return fact(of("delivered_again_count", arm), side(0, 1, "none, or what is put into the queue a second time"))


X_01 = claim(
    "X-dispatch-thread-dies-01", "", "Only Exception is caught, which would make the reput thread quit if an Error is thrown: "
    "messages that are put to the broker could not be consumed.",
    reading="One dispatch throws an OutOfMemoryError. Of the messages of the next 6 s none is consumed in 8 s.",
    expected=confirmed("the error ends the thread, whose loop catches exceptions alone", f"{REPUT}.run", RELEASES_4X)
    | refuted("the loop catches any Throwable, and goes on from the message itself a millisecond later",
              f"{REPUT}.run", RELEASES_5X),
    parts={"none consumed": _missing("incident", EVERY), "without a failure": control(_missing("baseline", NONE))},
    summary="One dispatch threw an error, and what was sent after it waited unconsumed {none consumed}.",
    told=Told(
        weight=Weight.OUTAGE, harm=Harm.HOLDS,
        holds="one Error in the dispatch thread leaves everything sent later unconsumed until a restart",
        fails="an Error in the dispatch thread does not end it",
    ),
)  # fmt: skip

X_02 = claim(
    "X-dispatch-thread-dies-02", "", "I can send, and cannot consume: every message is acknowledged all the same.",
    reading="Every send after the error is answered with SEND_OK.",
    expected=confirmed("a message is acknowledged when it is in the commit log; how far the dispatch is behind is not asked",
                       f"{LOG}.putMessage, {STORE}.putMessage", ("4.6.0",))
    | confirmed("a message is acknowledged when it is in the commit log; how far the dispatch is behind is not asked",
                f"{LOG}.asyncPutMessage, {STORE}.asyncPutMessage", ("4.9.7", *RELEASES_5X)),
    parts={"acknowledged": _accepted("incident"), "without a failure": control(_accepted("baseline"))},
    summary="Every send after the error was acknowledged {acknowledged}.",
)  # fmt: skip

X_03 = claim(
    "X-dispatch-thread-dies-03", "", "A restart of the broker builds the consume queues again, and everything comes.",
    reading="After the error the broker is stopped and started again. Every message of after the error comes, and none twice.",
    expected=confirmed("a broker that starts dispatches what lies behind the end of its consume queues before it takes requests",
                       f"{STORE}.start, {STORE}.shutdown", RELEASES_4X), cure_of=X_01.id,
    parts={
        "delivered": _missing(RESTART, NONE, by="end"),
        "none twice": _again(RESTART),
        "price": fact(of("unaccepted_in_cure_count", RESTART),
                      side(2, 0, "it takes 4 s and more until the broker is back, or no time at all", bound=1)),
        "it had stopped": control(_missing(RESTART, EVERY)),
    },
    summary="After a restart everything came {delivered}, and messages came twice {!none twice}; sends failed during it {price}.",
    told=Told(
        weight=Weight.OUTAGE,
        do="restart the broker: it builds the consume queues again",
    ),
)  # fmt: skip

X_04 = claim(
    "X-dispatch-thread-dies-04", "", "An exception, which is caught, does not end it.",
    reading="One dispatch throws an exception. Every message comes, and none twice.",
    expected=confirmed("the loop catches exceptions, and goes on from the message itself a millisecond later", f"{REPUT}.run",
                       RELEASES_4X)
    | confirmed("the loop catches any Throwable, and goes on from the message itself a millisecond later", f"{REPUT}.run",
                RELEASES_5X),
    parts={
        "all consumed": _missing(EXCEPTION, NONE),
        "none dropped": fact(of("dropped_count", EXCEPTION), side(0, 1, "none, or the one whose dispatch threw")),
        "none twice": _again(EXCEPTION),
    },
    summary="After an exception everything was consumed {all consumed}.",
)  # fmt: skip

X_05 = claim(
    "X-dispatch-thread-dies-05", "", "While no dispatch fails, what is acknowledged is consumed, and once.",
    reading="Every send is acknowledged, every message comes, and none twice.",
    expected=confirmed("the thread puts the place of each message of the log into its queue, and goes on behind it",
                       f"{REPUT}.doReput"),
    parts={"all consumed": _missing("baseline", NONE), "acknowledged": _accepted("baseline"), "none twice": _again("baseline")},
    summary="While no dispatch failed, all sends were acknowledged {acknowledged}, all came {all consumed}, and some came twice "
    "{!none twice}.",
)  # fmt: skip


def _arm(name: str, what: str, fault: Fault, trials: int, releases: tuple[str, ...] = ()) -> Arm:
    return Arm(name=name, what=what, fault=fault, load=DelayedMessages(levels=0), trials=trials, releases=releases)


SCENARIO = Scenario(
    name="dispatch-thread-dies",
    title="One dispatch of a message fails, and nobody gets what is sent",
    summary="Sixteen messages a second, and a consumer. One dispatch to the queues throws an OutOfMemoryError, or an exception.",
    symptom="Sends are acknowledged and the offsets of the topic stand still: nobody can consume what is sent.",
    threads=("issues/7902", "pull/7903", "issues/1613"),
    faces={"": "X-dispatch-thread-dies-01"},
    advice="Restart the broker, and everything comes.",
    cures=("X-dispatch-thread-dies-03",),
    audited=("dispatch-stands-still",),
    no_sign="The error goes to the broker's standard error alone: look there for ReputMessageService, and at how far "
    "the dispatch is behind (mqadmin brokerStatus, dispatchBehindBytes).",
    topology=Topology(name="single"),
    arms=(
        _arm("baseline", "No dispatch fails.", NoFault(), 2),
        _arm("incident", "One dispatch throws an OutOfMemoryError.", DispatchThrows(throws="error"), 5),
        _arm(EXCEPTION, "One dispatch throws an exception.", DispatchThrows(throws="exception"), 3),
        _arm(
            RESTART, "One dispatch throws an OutOfMemoryError; then the broker is stopped and started.",
            DispatchThrows(throws="error", cure="restart"), 3, RELEASES_4X,
        ),
    ),
    experiment_version=2,
    phases=Phases(steady_s=2.0, hold_s_min=8.0, hold_s_max=8.0, recover_s=1.0),
    claims=(X_01, X_02, X_03, X_04, X_05),
    budget=TrialBudget(trials=5, deployments=5),
    quick_budget=TrialBudget(trials=1, deployments=1),
    cluster_per_trial=True,
    shares_machine=True,
    hiccup_ms_max=1500.0,
)  # fmt: skip
"""What comes within 2 s of the hold's end is judged by nobody; until then a hiccup must let it come."""
