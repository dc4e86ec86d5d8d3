"""A5: a broker is killed and started again at once; for how long does a producer that avoids it send it nothing?

Producers never ask for their routes again, so that the dead broker stays in them, and only avoidance keeps sends away from it.
Each has a client, a topic and a table of its own and sends four messages a second, one after the other.
"""

from __future__ import annotations

from harness.model.avoiders import Avoider, AvoidingProducers
from harness.model.cluster import Topology
from harness.model.faults import NoFault, RestartBroker
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import claim, control, fact, of, refuted, side

AVOIDING, CLIENT = "fix-avoidance", "org.apache.rocketmq.client"
UPDATE = f"{CLIENT}.latency.MQFaultStrategy.updateFaultItem"
CHOOSE = f"{CLIENT}.impl.producer.TopicPublishInfo.selectOneMessageQueue"

OFF = (
    Avoider(name="once", queues=4, avoidance=False),
    Avoider(name="retried", queues=4, avoidance=False, retries=2),
)
"""Without retries, and with the two that are the default."""
ON = (Avoider(name="once"), Avoider(name="retried", queues=4, retries=2))

TEN_MINUTES = Phases(steady_s=60.0, hold_s_min=10.0, hold_s_max=640.0, recover_s=1.0)
BRIEF = Phases(steady_s=30.0, hold_s_min=15.0, hold_s_max=15.0, recover_s=1.0)

WITHIN = side(0, 20, "within 2 s; away by a time of 10 s, as of 5.x, or of minutes", bound=2)
FAILS = side(0.25, 0, "of eight turns two meet the dead broker three times; none where a retry leaves it out")

AVOID_02 = claim(
    "AVOID-02", "A5", "A failed broker is avoided for 30 s.",
    reading="A broker that is killed and back within seconds gets nothing for 30 s, within 2 s, from a producer one of whose sends "
    "to it failed.",
    expected=refuted("a failure counts as 30,000 ms, whose step is 600 s", UPDATE, RELEASES_4X)
    | refuted("a failure counts as 10,000 ms, whose step is 10 s", UPDATE, RELEASES_5X),
    parts={
        "avoided": fact(of("avoided_s", AVOIDING, producer="once"), WITHIN, predicted=30, deployments_min=5),
        "without avoidance": control(fact(of("avoided_s", "incident", producer="once"),
                                          side(0.5, 10, "the next turn of the broker, or the shortest time of any release"))),
    },
    summary="A producer that kept its routes, one of whose sends had failed, sent the broker nothing for {avoided}; without "
    "avoidance it went on sending to it {without avoidance}.",
)  # fmt: skip

AVOID_06 = claim(
    "AVOID-06", "A5", "With the switch off, every choice is plain round robin.",
    reading="With the switch off each send's first choice is the next queue, whatever failed there; and so is that of a retry, "
    "which therefore meets the dead broker again.",
    expected=refuted("a retry leaves out the broker that failed: selectOneMessageQueue(lastBrokerName)", CHOOSE),
    parts={
        "first choice": fact(of("out_of_turn_share", "incident", producer="once"),
                             side(0, 0.25, "each is its turn's; a broker left out changes one of four")),
        "retry": fact(of("failed_of_producer_share", "incident", producer="retried"), FAILS),
        "dead": control(fact(of("failed_of_producer_share", "incident", producer="once"),
                             side(0.5, 0, "every second send meets the dead broker, or none"))),
    }, summary="While a dead broker was in the routes the first choice of each send was its turn's {first choice}, and a retry "
    "met that broker again {retry}.",
)  # fmt: skip

SCENARIO = Scenario(
    name="broker-killed",
    title="A broker is killed and comes back: for how long it gets nothing",
    article="A5",
    summary="Producers with fault avoidance on and off, with retries and without, while the first of two brokers is killed and "
    "started again at once.",
    symptom="A broker was killed and is back, and producers with sendLatencyFaultEnable=true send it nothing for a "
    "while.",
    advice="Expect it: for how long a broker gets nothing is the client's to say, and the other brokers carry its load "
    "meanwhile.",
    cures=("AVOID-02",),
    no_sign="That a producer avoids a broker is in no log: after the lines of a broker that was gone, see when it is "
    "sent to again.",
    topology=Topology(name="two-masters", masters=2),
    arms=(
        Arm(
            name="baseline",
            what="Both brokers stay.",
            fault=NoFault(),
            load=AvoidingProducers(producers=OFF),
            phases=BRIEF,
            trials=1,
        ),
        Arm(
            name="incident",
            what="The first broker is killed and started again; the switch is off, the default.",
            fault=RestartBroker(),
            load=AvoidingProducers(producers=OFF),
            phases=BRIEF,
        ),
        Arm(
            name=AVOIDING,
            what="The same with sendLatencyFaultEnable.",
            fault=RestartBroker(),
            load=AvoidingProducers(producers=ON),
        ),
    ),
    phases=TEN_MINUTES,
    claims=(AVOID_02, AVOID_06),
    budget=TrialBudget(trials=6, deployments=6, extra_trials=1),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=False,
    hiccup_ms_max=500.0,
    schedule="side by side",
    cluster_per_trial=True,
    repetitions_together=True,
    experiment_version=2,
    extra_measures=("avoided_s", "failed_of_producer_share"),
)
