"""A5: every broker of a producer is avoided; which of them does it take?

One send to the second broker takes 17 s, the next one to the first broker 8 s: the first one is the faster. The clients' tables
are set to the durations of 5.x by their own setter, on every release, so that both are avoided for 10 s and not for minutes.
"""

from __future__ import annotations

from harness.model.avoiders import Avoider, AvoidingProducers
from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import NoFault, SlowSends
from harness.model.rules import Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import claim, code, confirmed, control, fact, of, refuted, side

AVOIDING, CLIENT = "fix-avoidance", "org.apache.rocketmq.client"
CHOOSE = f"{CLIENT}.latency.MQFaultStrategy.selectOneMessageQueue"
TABLE = f"{CLIENT}.latency.LatencyFaultToleranceImpl"

SCALED_MS = (0, 0, 2000, 5000, 6000, 10_000, 30_000)
"""The durations of 5.x; those of 4.x go up to 600 s. Both slow sends lie in the same steps of both."""
FAST_MS, SLOW_MS = 8000, 17_000


def _producers(avoidance: bool) -> tuple[Avoider, ...]:
    both = {"slow_ms": FAST_MS, "second_slow_ms": SLOW_MS}
    common = {"avoidance": avoidance, "durations_ms": SCALED_MS if avoidance else ()}
    return (
        Avoider(name="all", **both, **common),  # type: ignore[arg-type]
        Avoider(name="four", queues=4, **both, **common),  # type: ignore[arg-type]
        Avoider(name="one", queues=4, slow_ms=SLOW_MS, **common),  # type: ignore[arg-type]
        Avoider(name="last", slow_ms=SLOW_MS, slow_is="alone", **common),  # type: ignore[arg-type]
    )


BROKER = BrokerSettings(conf={"sendMessageThreadPoolNums": "24", "useReentrantLockWhenPutMessage": "true"})

AVOID_05_PARTS = {
    "not avoided": fact(of("first_broker_share", AVOIDING, producer="one"), side(0, 0.5, "none, or its half of the turns")),
    "in turn": fact(of("busiest_queue_share", AVOIDING, producer="one"), side(0.25, 0.625, "a quarter or five of eight")),
    "low latency": fact(of("first_broker_share", AVOIDING, producer="all"), side(1, 0.5, "all, or half of them")),
    "at last": fact(of("failed_of_producer_share", AVOIDING, producer="last"), side(0, 0.5, "none, or all of its own")),
    "switch off": control(fact(of("first_broker_share", "incident", producer="all"), side(0.5, 1, "turns, or all to one"))),
}  # fmt: skip

AVOID_05 = claim(
    "AVOID-05", "A5",
    "Choice: first a broker not being avoided, round robin; else one with low latency that accepts writes; else plain round robin.",
    reading="Only the other broker gets sends while one is avoided, each of its four queues a quarter; when both are, the one "
    "whose last send was faster gets them all; and a topic whose only broker is avoided is sent to all the same.",
    expected=refuted("the turn of an avoided queue is that of the first one behind them: five of eight", CHOOSE, RELEASES_4X)
    | refuted("when all are avoided they take turns, whatever their latencies", CHOOSE, RELEASES_5X),
    parts=AVOID_05_PARTS,
    summary="The avoided broker got its share {!not avoided}, and the queues of the other one as much as each other {in turn}; "
    "when both were avoided the faster one got everything {low latency}; a topic on the avoided broker alone got its sends "
    "{at last}.",
    told=Told(
        weight=Weight.OTHER,
        parts={
            "in turn": "when all brokers are avoided, a producer takes them in turn and no longer the fastest alone",
            "low latency": "when all brokers are avoided, the fastest gets no more than the others",
        },
    ),
)  # fmt: skip

AVOID_08 = claim(
    "AVOID-08", "A5", "The table holds by broker name: its last latency and the absolute end of its avoidance.",
    reading="Code only: an entry of the release's table has fields for the broker's name, the latency of its last send and the "
    "time from which on it is available. Nothing of it can be seen from outside but what follows from it.",
    expected=confirmed("FaultItem has name, currentLatency and startTimestamp, which is the end; 5.x has more beside them", TABLE),
    parts={"lacks": code(of("fault_item_lacks", AVOIDING, moment="after"), side(0, 1, "all three, or one of them is not there"))},
    summary="An entry lacks {lacks} of the three fields.",
)  # fmt: skip

SCENARIO = Scenario(
    name="all-brokers-avoided",
    title="All brokers are avoided: which one a producer takes",
    article="A5",
    summary="Producers whose last send was slow at one of two brokers, or at both, by the durations of 5.3.3 and 5.5.0.",
    symptom="All brokers of a producer are slow, and it does not send to the fastest of them.",
    advice="Do not count on sendLatencyFaultEnable here: among brokers that are all avoided it does not choose the "
    "faster one.",
    cures=("AVOID-05",),
    no_sign="Which brokers a producer avoids is in its memory: count by broker what arrives while all are slow.",
    topology=Topology(name="two-masters", masters=2),
    arms=(
        Arm(
            name="baseline",
            what="No send is slow.",
            fault=NoFault(),
            load=AvoidingProducers(producers=_producers(True)),
            trials=1,
        ),
        Arm(
            name="incident",
            what="A send to each broker is slow; the switch is off, the default.",
            fault=SlowSends(),
            load=AvoidingProducers(producers=_producers(False)),
            broker=BROKER,
        ),
        Arm(
            name=AVOIDING,
            what="The same with sendLatencyFaultEnable.",
            fault=SlowSends(),
            load=AvoidingProducers(producers=_producers(True), readings=("fault_item_lacks",)),
            broker=BROKER,
        ),
    ),
    phases=Phases(steady_s=30.0, hold_s_min=45.0, hold_s_max=60.0, recover_s=1.0),
    claims=(AVOID_05, AVOID_08),
    budget=TrialBudget(trials=5, deployments=5, extra_trials=1),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=False,
    hiccup_ms_max=500.0,
    schedule="side by side",
    cluster_per_trial=True,
    repetitions_together=True,
    experiment_version=2,
    extra_measures=("avoided_s", "unused_queues_count"),
)
"""Queues that are no longer used: 4.x writes the broker that it picks into the producer's own list."""
