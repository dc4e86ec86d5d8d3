"""Users: offsets are reset while a group consumes, and it stops for ten seconds (apache/rocketmq 10076, 10175, 5613).

A broker of 4.x tells each member, whose client stops, drops its queues and sleeps before it goes on. One of 5.x answers the next
pull of each queue with the new offset (useServerSideResetOffset, which is true by default), and tells no member.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import Fault, NoFault, ResetOffsets
from harness.model.incident import Sign
from harness.model.loads import DelayedMessages
from harness.model.log_events import Logged, LogPattern
from harness.model.rules import Expectation, Harm, Part, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import Side, claim, confirmed, control, fact, median, of, refuted, side

ORDERED, TOLD, ORDERED_TOLD, AWAY = "incident-ordered", "incident-told", "incident-ordered-told", "fix-away"
BY_MEMBERS = {"useServerSideResetOffset": "false"}
NO_SWITCH = dict.fromkeys(RELEASES_4X, "BrokerConfig has no useServerSideResetOffset")

CLIENT = "org.apache.rocketmq.client.impl"
SLEEPS = f"{CLIENT}.factory.MQClientInstance.resetOffset"
ADMIN = "org.apache.rocketmq.broker.processor.AdminBrokerProcessor"
PULL = "org.apache.rocketmq.broker.processor.PullMessageProcessor"
REBALANCE = f"{CLIENT}.factory.MQClientInstance.rebalanceImmediately"

STOPS = side(10, 0.5, "a client sleeps for 10 s, or gets its queues again at once", bound=5)
GOES_ON = side(0.5, 10, "a client gets its queues again at once, or sleeps for 10 s", bound=5)
BACK = side(40, 0, "five seconds of eight messages a queue come again, or none", bound=10)


def _late(arm: str, at: Side) -> Part:
    return fact(of("delivery_late_s", arm, level=0), at)


BACK_SOON = median(of("delivery_late_s", AWAY, level=0), GOES_ON)
"""How long a group is away differs by deployment, which a fact does not allow for."""


def _set_back(arm: str) -> Part:
    return control(fact(of("duplicate_count", arm), BACK))


def _sleeps(releases: tuple[str, ...]) -> Mapping[str, Expectation]:
    return confirmed("a client that is told sleeps for 10 s before it has its queues again", SLEEPS, releases)


AT_ONCE = refuted(
    "the next pull of a queue is answered with the offset, and the client rebalances at once",
    f"{ADMIN}.resetOffsetInner, {PULL}.processRequest, {REBALANCE}", RELEASES_5X,
)  # fmt: skip

X_01 = claim(
    "X-reset-offset-stops-consumption-01", "", "A consumer has to wait for fixed 10 seconds after it received the broker's request "
    "to reset offsets, which makes for a bad pause.",
    reading="Offsets are set back by 5 s while the group consumes. A message that is sent then comes 5 s late and more.",
    expected={**_sleeps(RELEASES_4X), **AT_ONCE},
    parts={
        "late": _late("incident", STOPS),
        "set back": _set_back("incident"),
        "without a reset": control(_late("baseline", GOES_ON)),
    },
    summary="A group whose offsets were reset stood still for more than 5 s {late}.",
    told=Told(
        weight=Weight.DELAY, harm=Harm.HOLDS,
        holds="a reset of offsets stops the group for 10 s",
        fails="a reset of offsets no longer stops the group",
    ),
)  # fmt: skip

X_02 = claim(
    "X-reset-offset-stops-consumption-02", "", "A broker of 5.x that does not reset offsets by itself has members wait 10 s, as "
    "4.x does.",
    lacks=NO_SWITCH,
    reading="The same with useServerSideResetOffset=false.",
    expected=_sleeps(RELEASES_5X),
    parts={"late": _late(TOLD, STOPS), "set back": _set_back(TOLD), "by default": control(_late("incident", GOES_ON))},
    summary="With useServerSideResetOffset=false the group stood still for more than 5 s {late}.",
)  # fmt: skip

X_03 = claim(
    "X-reset-offset-stops-consumption-03", "", "An ordered consumer waits for 10 seconds, too.",
    reading="The same with an ordered consumer and the default settings.",
    expected={**_sleeps(RELEASES_4X), **AT_ONCE},
    parts={"late": _late(ORDERED, STOPS), "set back": _set_back(ORDERED)},
    summary="An ordered consumer whose offsets were reset stood still for more than 5 s {late}.",
    told=Told(
        weight=Weight.DELAY, harm=Harm.HOLDS,
        holds="a reset of offsets stops an ordered consumer for 10 s",
        fails="a reset of offsets no longer stops an ordered consumer",
    ),
)  # fmt: skip

X_04 = claim(
    "X-reset-offset-stops-consumption-04", "", "For orderly consumption a reset no longer enforces a mandatory 10-second wait.",
    lacks=NO_SWITCH,
    reading="The same with an ordered consumer and useServerSideResetOffset=false: no message is 5 s late.",
    expected=refuted("a client that is told sleeps for 10 s before it has its queues again", SLEEPS, ("5.3.3",))
    | confirmed("an ordered consumer waits until nobody works on its queue", SLEEPS, ("5.5.0",)),
    parts={"late": _late(ORDERED_TOLD, GOES_ON), "set back": _set_back(ORDERED_TOLD),
           "normal consumers wait": control(_late(TOLD, STOPS))},
    summary="With useServerSideResetOffset=false an ordered consumer had a message that was 5 s late after a reset {!late}.",
    told=Told(
        weight=Weight.DELAY, harm=Harm.FAILS,
        holds="a reset of offsets stops no ordered consumer",
        fails="a reset of offsets stops an ordered consumer for 10 s",
    ),
)  # fmt: skip

X_05 = claim(
    "X-reset-offset-stops-consumption-05", "", "Stop the consumers, reset, and start them: they are back sooner.",
    cure_of=X_01.id,
    reading="The group leaves, its offsets are set back by 5 s, and it comes back: no message is 5 s late. The price is that all "
    "members have to be stopped.",
    expected=confirmed("a member that starts asks the broker for its offsets as it gets its queues",
                       f"{CLIENT}.consumer.RebalancePushImpl.computePullFromWhere", ("4.6.0",))
    | confirmed("a member that starts asks the broker for its offsets as it gets its queues",
                f"{CLIENT}.consumer.RebalancePushImpl.computePullFromWhereWithException", ("4.9.7",)),
    parts={"late": BACK_SOON, "set back": _set_back(AWAY), "while they consume": control(_late("incident", STOPS))},
    summary="The latest message of a group that was away while its offsets were reset was late by {late}.",
    told=Told(
        weight=Weight.DELAY,
        do="stop the consumers, reset, and start them",
    ),
)  # fmt: skip

X_06 = claim(
    "X-reset-offset-stops-consumption-06", "", "Without a reset nothing is late.",
    reading="No message comes 5 s late, and none twice.",
    expected=confirmed("a pull that finds nothing waits at the broker for what arrives", f"{PULL}.processRequest"),
    parts={
        "late": _late("baseline", GOES_ON),
        "none twice": fact(of("duplicate_count", "baseline"), side(0, 40, "none, or five seconds of messages", bound=10)),
    },
    summary="Without a reset a message was late {!late}.",
)  # fmt: skip


def _arm(
    name: str,
    what: str,
    fault: Fault,
    conf: Mapping[str, str] | None = None,
    releases: tuple[str, ...] = (),
    *,
    ordered: bool = False,
) -> Arm:
    load = DelayedMessages(levels=0, ordered=ordered)
    return Arm(
        name=name, what=what, fault=fault, load=load, broker=BrokerSettings(conf=conf or {}), releases=releases,
        trials=5 if name == AWAY else 2,
    )  # fmt: skip


SCENARIO = Scenario(
    name="reset-offset-stops-consumption",
    title="Offsets are reset, and the group stops",
    summary="Sixteen messages a second, and a consumer. Its group's offsets are set back by 5 s while it consumes.",
    symptom="A group's offsets are reset (resetOffsetByTime), and it consumes nothing for ten seconds.",
    threads=("issues/10076", "pull/10175", "issues/5613"),
    faces={
        "a normal consumer": "X-reset-offset-stops-consumption-01",
        "an ordered consumer": "X-reset-offset-stops-consumption-03",
        "with useServerSideResetOffset=false": "X-reset-offset-stops-consumption-02",
    },
    advice="Reset offsets while the group is away, or with brokers of 5.3.3 and 5.5.0 and useServerSideResetOffset=true, their "
    "default; with false only an ordered consumer of 5.5.0 goes on.",
    cures=("X-reset-offset-stops-consumption-05", "X-reset-offset-stops-consumption-04"),
    audited=("reset-stops-members",),
    sign=Sign(
        pattern=LogPattern.OFFSETS_RESET,
        events=(Logged.OFFSETS_RESET,),
        because="members of a group were told to reset their offsets, and each stops for 10 s then; 5.5.0 spares ordered "
        "ones that",
    ),
    topology=Topology(name="single"),
    arms=(
        _arm("baseline", "Nothing is reset.", NoFault()),
        _arm("incident", "Offsets are set back by 5 s.", ResetOffsets()),
        _arm(TOLD, "The same with useServerSideResetOffset=false.", ResetOffsets(), BY_MEMBERS, RELEASES_5X),
        _arm(ORDERED, "Offsets of an ordered consumer are set back by 5 s.", ResetOffsets(), ordered=True),
        _arm(ORDERED_TOLD, "The same with useServerSideResetOffset=false.", ResetOffsets(), BY_MEMBERS, RELEASES_5X, ordered=True),
        _arm(AWAY, "The consumer leaves, its offsets are set back, and it comes back.", ResetOffsets(cure="away"),
             releases=RELEASES_4X),
    ),
    phases=Phases(steady_s=6.0, hold_s_min=14.0, hold_s_max=14.0, recover_s=0.5),
    claims=(X_01, X_02, X_03, X_04, X_05, X_06),
    budget=TrialBudget(trials=5, deployments=5),
    quick_budget=TrialBudget(trials=1, deployments=1),
    shares_machine=True,
    hiccup_ms_max=1500.0,
)  # fmt: skip
"""Whether a client sleeps is decided by code, the same in each deployment: two of them. How long one is away is not: five. The hold
outlasts the sleep by more than what is judged by nobody at its end, and a hiccup is shorter than what a bound leaves."""
