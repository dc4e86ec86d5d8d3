"""A5: a broker is killed, stopped, slow, or stops and goes on. Is a producer that avoids faulty brokers better off?

Two producers in one process, with the switch on and off, share each outage; Locust's users make their rate. Both retry twice and
have more threads than there are sends under way. A send is late when it failed or took over a second from when it was due.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.avoiders import Avoider, AvoidingProducers
from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import BrokerAway, Fault, FlappingNode, NoFault, PauseNode, SlowBroker
from harness.model.loads import LocustUsers
from harness.model.rules import Claim, Expectation, Harm, Part, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import claim, confirmed, control, fact, measured_share, of, ratio, refuted, side

KILLED = "incident-killed"
STOPPED, SLOW, FLAPPING, ALL_SLOW = (f"fix-{name}" for name in ("stopped", "slow", "flapping", "all-slow"))
SLOW_OF_THREE, FLAPPING_OF_THREE = f"{SLOW}-of-three", f"{FLAPPING}-of-three"
CLIENT = "org.apache.rocketmq.client"
UPDATE = f"{CLIENT}.latency.MQFaultStrategy.updateFaultItem"
TABLE = f"{CLIENT}.latency.MQFaultStrategy.latencyMax, {CLIENT}.latency.MQFaultStrategy.notAvailableDuration"
CHOOSE = f"{CLIENT}.latency.MQFaultStrategy.selectOneMessageQueue"
SEND = f"{CLIENT}.impl.producer.DefaultMQProducerImpl.sendDefaultImpl"

SLOW_MS, STOPPED_S, RUNS_S = 1200.0, 2.5, 7.5
"""A stop shorter than the client's timeout of 3 s, so that its sends are slow and none fails."""
COMMON = {"queues": 4, "timeout_ms": 3000, "retries": 2, "threads": 128}
LOAD = AvoidingProducers(
    producers=(Avoider(name="on", **COMMON), Avoider(name="off", avoidance=False, **COMMON)),  # type: ignore[arg-type]
    rate_hz=50.0,
    poll_route_ms=30_000,
    locust=LocustUsers(users=20, shape=((0.0, 0.25), (2.0, 0.5), (4.0, 1.0))),
)
SLOW_CONF = {"sendMessageThreadPoolNums": "200", "useReentrantLockWhenPutMessage": "true", "maxMessageSize": "65536"}
BROKER = BrokerSettings(conf=SLOW_CONF)
"""Slow, not busy: a send that is held up keeps a send thread. 200 buffers of 4 MiB are more than MaxDirectMemorySize."""
THREE = Topology(name="three-masters", masters=3)


def _late(arm: str, if_true: float = 0.25) -> Part:
    at = side(if_true, 0.01, "half or a third of the sends for half of the time, or less when it flaps; or hardly any")
    return fact(of("late_of_producer_share", arm, producer="off", when="during"), at)


def _fewer(arm: str) -> Part:
    on, off = (of("late_of_producer_share", arm, producer=producer, when="during") for producer in ("on", "off"))
    return ratio(on, off, side(0.25, 1, "a quarter of them, the first ones, or as many as without", bound=0.5))


def _back(arm: str, producer: str = "on") -> Part:
    at = side(0.5, 0.01, "its half, or none")
    return fact(of("to_faulty_share", arm, producer=producer, when="after"), at)


KILLED_01 = claim(
    "X-avoidance-in-outages-01", "A5", "While a broker is dead, sends fail or wait unless their producer avoids it.",
    reading="While one of two brokers is dead and still in the routes, a twentieth and more of the sends of a producer that "
    "retries twice and avoids nothing fail or take over a second.",
    expected=refuted("its address refuses at once, and the retry leaves it out", SEND),
    parts={"late": measured_share(of("late_of_producer_share", KILLED, producer="off", when="during"),
                                  side(0.25, 0.01, "half of the sends for half of the time, or hardly any"))},
    summary="While a broker was dead, {late} of the sends of the producer that avoids nothing failed or took over a second.",
)  # fmt: skip


def _kept_away(
    number: str, arm: str, at_fault: str, meanwhile: str, expected: Mapping[str, Expectation], late: float = 0.25
) -> Claim:
    return claim(
        f"X-avoidance-in-outages-{number}", "A5", f"Avoidance keeps most sends away from {at_fault}.",
        reading=f"While {meanwhile}, at most half as many sends of the producer that avoids brokers fail or take over a second as "
        "of the one that does not.",
        expected=expected,
        parts={"fewer": _fewer(arm), "late": control(_late(arm, late))},
        summary=f"While {meanwhile}{', with 200 send threads' if SLOW in arm else ''}, the share of sends that failed or took over "
        "a second was {fewer} times as large with the switch on as with it off.",
        told=Told(
            weight=Weight.DELAY, harm=Harm.FAILS,
            holds=f"avoidance keeps most sends away from {at_fault}",
            fails=f"avoidance does not keep sends away from {at_fault}",
            parts={"fewer": f"avoidance (sendLatencyFaultEnable) keeps fewer bad sends from {at_fault}: {{after}} of them "
                   "remain ({before} before)"},
            do="leave sendLatencyFaultEnable=true: with it there are at most half as many bad sends as without",
            cures=(f"X-avoidance-in-outages-{number}",),
        ),
    )  # fmt: skip


SLOW_SAID = confirmed("1.2 s avoid it for 60 s (4.x) or 2 s (5.x), which each slow one moves on", TABLE)
FLAPPING_SAID = confirmed(
    "two seconds avoid it for 120 s: no stop after the first one meets anybody", TABLE, RELEASES_4X
)
FLAPPING_SAID |= refuted("two seconds avoid it for 5 s: at the next stop it is used again", TABLE, RELEASES_5X)
SLOW_ONE, FLAPPING_ONE = "a broker that is slow", "a broker that stops and goes on"

STOPPED_02 = _kept_away(
    "02", STOPPED, "a broker that stands still", "one of two brokers stood still",
    confirmed("the first timeouts avoid it for 600 s (4.x) or 10 s (5.x)", UPDATE),
)  # fmt: skip
SLOW_03 = _kept_away("03", SLOW, SLOW_ONE, "one of two brokers held up each send for 1.2 s", SLOW_SAID)
FLAPPING_04 = _kept_away(
    "04", FLAPPING, FLAPPING_ONE, "one of two brokers stood still for 2.5 s of every ten", FLAPPING_SAID, late=0.05
)

ALL_SLOW_05 = claim(
    "X-avoidance-in-outages-05", "A5", "Where all brokers are slow, avoidance makes nothing worse.",
    reading="While both brokers hold up each send for 1.2 s, the 99th percentile of the producer that avoids brokers is less than "
    "half as much again as that of the other one.",
    expected=confirmed("when all are avoided one of them is taken all the same", CHOOSE),
    parts={"p99": ratio(of("p99_of_producer_ms", ALL_SLOW, producer="on", when="during"),
                        of("p99_of_producer_ms", ALL_SLOW, producer="off", when="during"),
                        side(1, 2, "as long, or one slow try more", bound=1.5))},
    summary="While both brokers were slow, with 200 send threads, the 99th percentile of the sends' times was {p99} times as "
    "large with the switch on as with it off.",
)  # fmt: skip

BACK_06 = claim(
    "X-avoidance-in-outages-06", "A5", "A broker that is well again gets its share of the sends soon.",
    reading="From ten to twenty seconds after one of two brokers that stood still, or was slow, is well, a fourteenth and more of "
    "the sends of the producer that avoids brokers go to it.",
    expected=refuted("after a failure it gets nothing for 600 s, after 1.2 s nothing for 60 s", TABLE, RELEASES_4X)
    | confirmed("after a failure it gets nothing for 10 s, after 1.2 s nothing for 2 s", TABLE, RELEASES_5X),
    parts={"stopped": _back(STOPPED), "slow": _back(SLOW), "switch off": control(_back(STOPPED, "off"))},
    summary="The broker that had stood still got a part of the sends again {stopped}, the one that had been slow did {slow}, and "
    "without avoidance it did {switch off}.",
    told=Told(
        weight=Weight.OTHER, harm=Harm.FAILS,
        holds="a broker that is well again gets its share of sends within seconds",
        fails="a broker that is well again gets no sends for minutes",
    ),
)  # fmt: skip

SLOW_OF_THREE_07 = _kept_away("07", SLOW_OF_THREE, f"{SLOW_ONE}, of three", "one of three brokers held up each send for 1.2 s",
                              SLOW_SAID)  # fmt: skip
FLAPPING_OF_THREE_08 = _kept_away(
    "08", FLAPPING_OF_THREE, f"{FLAPPING_ONE}, of three", "one of three brokers stood still for 2.5 s of every ten",
    FLAPPING_SAID, late=0.05,
)  # fmt: skip


def _arm(name: str, what: str, fault: Fault, **more: Topology | BrokerSettings | int) -> Arm:
    return Arm(name=name, what=what, fault=fault, load=LOAD, **more)  # type: ignore[arg-type]


FLAPS = FlappingNode(node="broker-a", stopped_s=STOPPED_S, runs_s=RUNS_S)
SCENARIO = Scenario(
    name="avoidance-in-outages",
    title="Is it worth it: outages with fault avoidance on and off",
    article="A5",
    summary="Two producers, one with sendLatencyFaultEnable, while a broker of two or three is killed, stopped, slow or flapping, "
    "and while all are slow.",
    symptom="One broker is dead, slow or stands still, and sends fail or take over a second.",
    advice="See `mqlab explain sends --release RELEASE`, which has the best setting for each failure; "
    "sendLatencyFaultEnable=true is for a broker that is slow.",
    cures=("X-avoidance-in-outages-03", "X-avoidance-in-outages-07"),
    no_sign="Whether a producer avoids brokers is in no log: compare what two producers of an outage went through.",
    topology=Topology(name="two-masters", masters=2),
    arms=(
        _arm("baseline", "Both brokers are well.", NoFault(), trials=1),
        _arm(KILLED, "The second broker is killed, and started again after 40 s.", BrokerAway()),
        _arm(STOPPED, "The first broker stands still.", PauseNode(node="broker-a")),
        _arm(SLOW, "The first broker holds up each send for 1.2 s.", SlowBroker(slow_ms=SLOW_MS), broker=BROKER),
        _arm(FLAPPING, "The first broker stands still for 2.5 s of every ten.", FLAPS),
        _arm(
            ALL_SLOW, "Both brokers hold up each send.", SlowBroker(slow_ms=SLOW_MS, every_master=True), broker=BROKER
        ),
        _arm(SLOW_OF_THREE, "One broker of three is slow.", SlowBroker(slow_ms=SLOW_MS), broker=BROKER, topology=THREE),
        _arm(FLAPPING_OF_THREE, "One broker of three flaps.", FLAPS, topology=THREE),
    ),
    phases=Phases(steady_s=10.0, hold_s_min=40.0, hold_s_max=40.0, recover_s=21.0),
    claims=(KILLED_01, STOPPED_02, SLOW_03, FLAPPING_04, ALL_SLOW_05, BACK_06, SLOW_OF_THREE_07, FLAPPING_OF_THREE_08),
    budget=TrialBudget(trials=5, deployments=5, extra_trials=1),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=False,
    hiccup_ms_max=500.0,
    schedule="side by side",
    cluster_per_trial=True,
    extra_measures=("p99_of_producer_ms", "p999_of_producer_ms", "accepted_of_producer_per_s", "to_faulty_share"),
)
