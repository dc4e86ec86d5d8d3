"""Users: a restart of the broker delivers delayed messages twice (apache/rocketmq 3473, 3478).

How far each delay level is stands in a file, which the broker writes every 10 s (flushDelayOffsetInterval). One that starts goes on
from there: what it had delivered since is delivered again. Three levels of four messages a second deliver twelve a second.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import Fault, NoFault, RestartAmidDelays
from harness.model.loads import DelayedMessages
from harness.model.rules import Harm, Part, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_5X
from scenarios.rules import Side, claim, confirmed, control, fact, of, refuted, side

KILLED, OFTEN, UNDISTURBED = "incident-killed", "fix-short-interval", "fix-undisturbed"
INTERVAL = {"flushDelayOffsetInterval": "1000"}
LEVELS = (1, 2, 3)

OLD, NEW = (f"org.apache.rocketmq.{module}.schedule.ScheduleMessageService" for module in ("store", "broker"))
STORE, BROKER = "org.apache.rocketmq.store.DefaultMessageStore", "org.apache.rocketmq.broker.BrokerController"

AGAIN = side(1, 0, "all that came in the last 2.5 s, or none")
NONE = side(0, 1, "none, or all that came in the last 2.5 s")
A_SECOND = side(0.4, 1, "what came in one of the last 2.5 s, or all", bound=0.7)
SOON = side(0.5, 10, "a level looks at its first message every 100 ms, and never waits for a write", bound=2)


def _again(arm: str, at: Side) -> Part:
    return fact(of("delivered_again_share", arm), at)


def _all_come(arm: str) -> Part:
    none = side(0, 1, "all messages of the levels come in the end, or some never do")
    return fact(of("undelivered_share", arm, level=LEVELS, by="end"), none)


FROM_FILE = confirmed(
    "a broker that starts goes on from the file, which is written every 10 s",
    f"{OLD}.start, {OLD}.load",
    ("4.6.0", "4.9.7"),
) | confirmed(
    "a broker that starts goes on from the file, which is written every 10 s", f"{NEW}.start, {NEW}.load", RELEASES_5X
)
EACH_SECOND = confirmed(
    "the file is written by the period that is set", f"{OLD}.start", ("4.6.0", "4.9.7")
) | confirmed("the file is written by the period that is set", f"{NEW}.start", RELEASES_5X)  # fmt: skip

X_01 = claim(
    "X-delayed-again-after-restart-01", "", "Broker restart causes delayed message delivery duplication: the offset is not "
    "persisted when ScheduleMessageService calls shutdown.",
    reading="The broker is stopped 4 s after it wrote the levels' offsets, and started. What came in the last 2.5 s comes again.",
    expected=confirmed("a shutdown cancels the Timer, and writes nothing", f"{OLD}.shutdown", ("4.6.0",))
    | refuted("a shutdown ends the levels' tasks, and writes their offsets", f"{OLD}.shutdown", ("4.9.7",))
    | refuted("a shutdown ends the levels' tasks, and writes their offsets", f"{BROKER}.shutdown, {NEW}.stop", RELEASES_5X),
    parts={"again": _again("incident", AGAIN), "without a restart": control(_again("baseline", NONE))},
    summary="What a broker had delivered in its last seconds came again after a stop and a start {again}.",
    told=Told(
        weight=Weight.OTHER, harm=Harm.HOLDS,
        holds="a restart of the broker delivers delayed messages twice",
        fails="a restart of the broker delivers no delayed message twice",
    ),
)  # fmt: skip

X_02 = claim(
    "X-delayed-again-after-restart-02", "", "A broker that is killed delivers again what it delivered since the offsets were last "
    "written, 10 s of it at most.",
    reading="The broker is killed 4 s after it wrote the levels' offsets, and started. What came in the last 2.5 s comes again.",
    expected=FROM_FILE,
    parts={"again": _again(KILLED, AGAIN), "all come": _all_come(KILLED), "without a restart": control(_again("baseline", NONE))},
    summary="What a broker had delivered in its last seconds came again after a kill {again}; all messages came {all come}.",
)  # fmt: skip

X_03 = claim(
    "X-delayed-again-after-restart-03", "", "With flushDelayOffsetInterval=1000 no more than a second's messages come again.",
    reading="The broker with that setting is killed, and started. Of what came in the last 2.5 s, no more than one second's comes "
    "again. Without a failure a message is no later for the writes.",
    expected=EACH_SECOND,
    parts={
        "again": _again(OFTEN, A_SECOND),
        "price": fact(of("delivery_late_s", UNDISTURBED, level=LEVELS), SOON),
        "by default": control(_again(KILLED, AGAIN)),
    },
    summary="With flushDelayOffsetInterval=1000 more than a second's messages came again {!again}, and one was late {!price}.",
)  # fmt: skip

X_04 = claim(
    "X-delayed-again-after-restart-04", "", "A delayed message is delivered once while its broker runs.",
    reading="Without a restart no message lies in its topic twice, and all come within 2 s of their time.",
    expected=confirmed("each run of a level begins behind what the one before delivered", f"{OLD}.updateOffset", ("4.6.0", "4.9.7"))
    | confirmed("each run of a level begins behind what the one before delivered", f"{NEW}.updateOffset", RELEASES_5X),
    parts={"none again": _again("baseline", NONE), "late": fact(of("delivery_late_s", "baseline", level=LEVELS), SOON)},
    summary="Without a restart messages came again {!none again}.",
)  # fmt: skip


def _arm(name: str, what: str, fault: Fault, conf: Mapping[str, str] | None = None) -> Arm:
    return Arm(name=name, what=what, fault=fault, load=DelayedMessages(), broker=BrokerSettings(conf=conf or {}))


SCENARIO = Scenario(
    name="delayed-again-after-restart",
    title="A restart of the broker delivers delayed messages again",
    summary="Messages of no delay and of three delay levels, four a second of each. The broker is stopped, or killed, 4 s after it "
    "wrote how far the levels are, and started again.",
    symptom="After a restart of the broker delayed messages that had been consumed already come again.",
    threads=("issues/3473", "pull/3478"),
    faces={
        "the broker was stopped": "X-delayed-again-after-restart-01",
        "it was killed": "X-delayed-again-after-restart-02",
    },
    advice="Upgrade the broker to 4.9.7 or newer, which writes how far it is as it is stopped; "
    "flushDelayOffsetInterval=1000 leaves a second's messages after a kill.",
    cures=("X-delayed-again-after-restart-03",),
    audited=("restart-delivers-again",),
    no_sign="Deliveries leave no line: look at when the broker started, at its first line of how it ended (last "
    "shutdown abnormally), and at what was due in the 10 s before.",
    topology=Topology(name="single"),
    arms=(
        _arm("baseline", "The broker runs on.", NoFault()),
        _arm("incident", "The broker is stopped and started.", RestartAmidDelays(ends="stopped")),
        _arm(KILLED, "The broker is killed and started.", RestartAmidDelays()),
        _arm(OFTEN, "The same with flushDelayOffsetInterval=1000.", RestartAmidDelays(), INTERVAL),
        _arm(UNDISTURBED, "The broker runs on with flushDelayOffsetInterval=1000.", NoFault(), INTERVAL),
    ),
    phases=Phases(steady_s=8.0, hold_s_min=8.0, hold_s_max=8.0, recover_s=0.5),
    claims=(X_01, X_02, X_03, X_04),
    budget=TrialBudget(trials=2, deployments=2),
    quick_budget=TrialBudget(trials=1, deployments=1),
    cluster_per_trial=True,
    shares_machine=True,
    hiccup_ms_max=1500.0,
)  # fmt: skip
"""Which offsets a broker goes on from is decided by code, the same in each deployment: two of them. Shares are of what came, which
a busy host does not move on which fewer are sent; a consumer may be 1.5 s behind."""
