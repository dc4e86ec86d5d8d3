"""A5: one send of a producer takes as long as a step of the latency table says, and its broker gets nothing for as long.

Each producer has a client, a topic with a queue on both brokers and a table of its own, sends four messages a second, one after
the other, and never asks for its route again: every second send goes to the first broker, unless that is avoided. One of
those is held up inside the broker, before the store; nothing else there is. The steps are unscaled: ten minutes last ten minutes.
"""

from __future__ import annotations

from harness.model.avoiders import Avoider, AvoidingProducers
from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import NoFault, SlowSends
from harness.model.rules import Part, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import claim, confirmed, control, fact, of, refuted, side

AVOIDING, CLIENT = "fix-avoidance", "org.apache.rocketmq.client"
STRATEGY = f"{CLIENT}.latency.MQFaultStrategy"
UPDATE, LATENCY_TABLE = f"{STRATEGY}.updateFaultItem", f"{STRATEGY}.latencyMax, {STRATEGY}.notAvailableDuration"
ITEM_4X = f"{CLIENT}.latency.LatencyFaultToleranceImpl.updateFaultItem"
SEND_TO_QUEUE = f"{CLIENT}.impl.producer.DefaultMQProducerImpl.sendKernelImpl"
CHOOSE = f"{STRATEGY}.selectOneMessageQueue"

STEPS_S = {75: 0, 300: 0, 775: 30, 1400: 60, 2400: 120, 4000: 180, 17_000: 600}
"""The article's seconds for latencies, each far from the steps of 4.x (50, 100, 550, 1000, 2000, 3000, 15,000 ms)."""
STEPS_5X_S = {775: 2, 1400: 2, 2400: 5, 4000: 6, 17_000: 30}
"""Those of 5.x, whose steps begin at 50, 100, 550, 1800, 3000, 5000 and 15,000 ms."""
LONG_MS = 17_000

PRODUCERS = (
    *(Avoider(name=f"after-{slow_ms}", slow_ms=slow_ms) for slow_ms in STEPS_S),
    Avoider(name="async", slow_ms=2400, mode="async"),
    Avoider(name="fixed", slow_ms=2400, slow_is="fixed"),
    Avoider(name="success", slow_ms=LONG_MS, slow_is="alone"),
    Avoider(name="failure", slow_ms=6000, timeout_ms=3000),
)
WITHOUT = (
    Avoider(name="off", slow_ms=LONG_MS, avoidance=False),
    Avoider(name="off-failure", slow_ms=6000, timeout_ms=3000, avoidance=False),
)
CALM = (Avoider(name="on", queues=4), Avoider(name="off", queues=4, avoidance=False))

TEN_MINUTES = Phases(steady_s=60.0, hold_s_min=10.0, hold_s_max=640.0, recover_s=1.0)
BRIEF = Phases(steady_s=30.0, hold_s_min=15.0, hold_s_max=15.0, recover_s=1.0)
BROKER = BrokerSettings(conf={"sendMessageThreadPoolNums": "24", "useReentrantLockWhenPutMessage": "true"})
"""A send that is held up keeps one of the broker's send threads; with the default of 4.6.0, one, all others would wait for it."""

NEXT_TURN_S = 0.5
"""Every second of four sends a second."""
BAND_S = 2.0
"""A hiccup of half a second, a quarter of this, would itself be a step of the table."""
AVOIDED = side(5, NEXT_TURN_S, "the least that any release has for 2.4 s and more, or the next turn")
NOT_AVOIDED = side(NEXT_TURN_S, 30, "the next turn, or the shortest time that any release has for 17 s")


def _avoids_for(seconds: float, producer: str, if_false: float, because: str) -> Part:
    at = side(0, abs(seconds - if_false), because, bound=max(BAND_S, 0.02 * seconds))
    return fact(of("avoided_s", AVOIDING, producer=producer), at, predicted=seconds, deployments_min=5)


def _after(slow_ms: int) -> Part:
    seconds, other = STEPS_S[slow_ms], STEPS_5X_S.get(slow_ms, 30)
    because = (
        "within 2 s or 2 %; away by a table like that of 5.x" if seconds else "the next turn, or the next step's time"
    )
    return _avoids_for(seconds, f"after-{slow_ms}", other, because)


AVOID_01_PARTS = {
    "synchronous": fact(of("avoided_s", AVOIDING, producer="after-2400"), AVOIDED),
    "asynchronous": fact(of("avoided_s", AVOIDING, producer="async"), AVOIDED),
    "to a fixed queue": fact(of("avoided_s", AVOIDING, producer="fixed"), AVOIDED),
    "failed": fact(of("avoided_s", AVOIDING, producer="failure"), AVOIDED),
    **{f"off, {what}": fact(of("avoided_s", "incident", producer=name), NOT_AVOIDED) for what, name in
       (("slow", "off"), ("failed", "off-failure"))},
}  # fmt: skip

AVOID_01 = claim(
    "AVOID-01", "A5",
    "Every send, successful or not, updates the broker's fault item; it works only with sendLatencyFaultEnable.",
    reading="With the switch on, normal sends avoid a broker for seconds after a send that took 2.4 s and succeeded, synchronous, "
    "asynchronous or to a fixed queue, and after one that failed; with it off they do not.",
    expected=refuted("a synchronous send to a fixed queue is sent without asking the strategy before or after",
                     f"{UPDATE}, {SEND_TO_QUEUE}"),
    parts=AVOID_01_PARTS,
    summary="Normal sends avoided the broker after a slow synchronous send {synchronous}, after a slow asynchronous one "
    "{asynchronous}, after one to a fixed queue {to a fixed queue} and after one that failed {failed}; with the switch off they "
    "went on {off, slow}.",
)  # fmt: skip

AVOID_03 = claim(
    "AVOID-03", "A5", "A successful send sets its avoidance to 0.",
    reading="A broker that is avoided after a send of 17 s gets the normal sends again at once when another send to it, of a topic "
    "that it alone has, succeeds quickly.",
    expected=confirmed("each send writes the end of the avoidance anew, now plus 0 after a quick one", ITEM_4X, RELEASES_4X)
    | refuted("an end is only ever moved on: FaultItem.updateNotAvailableDuration leaves it for 0",
              f"{CLIENT}.latency.LatencyFaultToleranceImpl", RELEASES_5X),
    parts={
        "after a success": fact(of("avoided_s", AVOIDING, producer="success"), NOT_AVOIDED),
        "without one": control(fact(of("avoided_s", AVOIDING, producer=f"after-{LONG_MS}"),
                                    side(30, NEXT_TURN_S, "the shortest time for 17 s, or the next turn"))),
    },
    summary="After a success the broker got normal sends at once {after a success}; without one it was avoided {without one}.",
    told=Told(
        weight=Weight.OTHER,
        holds="a successful send ends a broker's avoidance",
        fails="a successful send does not end a broker's avoidance",
    ),
)  # fmt: skip

AVOID_04 = claim(
    "AVOID-04", "A5", "Send latency maps to avoidance by fixed steps whose durations are 0, 0, 30, 60, 120, 180, 600 s.",
    reading="After one send that took 75, 300, 775, 1400, 2400, 4000 or 17,000 ms and succeeded, its broker gets nothing for these "
    "seconds, within 2 s or 2 %.",
    expected=confirmed("latencyMax 50, 100, 550, 1000, 2000, 3000, 15,000 ms and these durations", LATENCY_TABLE, RELEASES_4X)
    | refuted("the durations are 0, 0, 2, 5, 6, 10, 30 s, of other latencies", LATENCY_TABLE, RELEASES_5X),
    parts={f"{slow_ms} ms": _after(slow_ms) for slow_ms in STEPS_S},
    summary="After a send of 75 ms its broker got nothing for {75 ms}, after one of 300 ms for {300 ms}, of 775 ms for {775 ms}, "
    "of 1.4 s for {1400 ms} and of 2.4 s for {2400 ms}; with sendMsgTimeout=60000 it got nothing for {4000 ms} after one of 4 s, "
    "and for {17000 ms} after one of 17 s.",
    told=Told(
        weight=Weight.OTHER,
        parts={"*": "avoidance after a slow send is short: {after} after one of {part}, and was {before}"},
    ),
)  # fmt: skip

AVOID_07 = claim(
    "AVOID-07", "A5", "The article's own listing gives a failure the step of a 30,000 ms latency.",
    reading="After a send that timed out after 3 s its broker gets nothing for 600 s, the article's longest step.",
    expected=confirmed("a failure counts as 30,000 ms, whatever it took", UPDATE, RELEASES_4X)
    | refuted("a failure counts as 10,000 ms, whose step is 10 s", UPDATE, RELEASES_5X),
    parts={"after a timeout": _avoids_for(600, "failure", 10, "the step of 30,000 ms in 4.x; that of 10,000 ms in 5.x")},
    summary="After a send that timed out its broker got nothing for {after a timeout}.",
    told=Told(
        weight=Weight.OTHER,
        holds="a send that times out has its broker avoided for 600 s",
        fails="a send that times out has its broker avoided for about 10 s",
    ),
)  # fmt: skip

AVOID_09 = claim(
    "AVOID-09", "A5", "The rotation goes over brokers (prose) or over queues (listing).",
    reading="As the listing has it: with four queues on each broker each send of a thread goes to the next queue in the list by "
    "broker and number, with the switch on and off, and not to the next broker.",
    expected=confirmed("one counter a thread walks the list of queues", CHOOSE),
    parts={
        f"switch {name}": fact(of("out_of_turn_share", "baseline", producer=name),
                               side(0, 1, "all go to the next one in the list, or none does: it mostly is the same broker's"))
        for name in ("on", "off")
    }, summary="With the switch on each send went to the next queue in the list {switch on}, and with it off {switch off}.",
)  # fmt: skip

SCENARIO = Scenario(
    name="broker-slow",
    title="A send was slow: for how long its broker gets nothing",
    article="A5",
    summary="Producers with fault avoidance on and off, of each of which one send is slow, by each step of the latency table.",
    symptom="After one slow send a producer with sendLatencyFaultEnable=true sends that broker nothing for seconds or "
    "minutes.",
    advice="Upgrade the clients to 5.3.3 or 5.5.0, which avoid a broker for seconds where those of 4.6.0 and 4.9.7 do "
    "so for minutes.",
    cures=("AVOID-04", "AVOID-07"),
    no_sign="That a producer avoids a broker is in no log: look for a broker that gets nothing for seconds or minutes "
    "after one slow send.",
    topology=Topology(name="two-masters", masters=2),
    arms=(
        Arm(
            name="baseline",
            what="No send is slow; four queues on each broker.",
            fault=NoFault(),
            load=AvoidingProducers(producers=CALM),
            phases=BRIEF,
            trials=2,
        ),
        Arm(
            name="incident",
            what="A send is slow, or fails; the switch is off, the default.",
            fault=SlowSends(),
            load=AvoidingProducers(producers=WITHOUT),
            broker=BROKER,
            phases=BRIEF,
            trials=2,
        ),
        Arm(
            name=AVOIDING,
            what="The same with sendLatencyFaultEnable, by each step of the table.",
            fault=SlowSends(),
            load=AvoidingProducers(producers=PRODUCERS),
            broker=BROKER,
        ),
    ),
    phases=TEN_MINUTES,
    claims=(AVOID_01, AVOID_03, AVOID_04, AVOID_07, AVOID_09),
    budget=TrialBudget(trials=6, deployments=6),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=False,
    hiccup_ms_max=500.0,
    schedule="side by side",
    cluster_per_trial=True,
    repetitions_together=True,
    experiment_version=2,
    extra_measures=("avoided_s", "failed_of_producer_share"),
)
