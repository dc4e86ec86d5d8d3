"""A5: what helps avoidance while a broker stands still, and clients of one release at brokers of another.

A send that has waited its whole timeout there is tried again with no time left. That attempt fails at the broker that is well,
which is avoided for it, too: by what 4.x does until its next quick send, by what 5.x does for 10 s. Without retries no such
attempt is made; a limit for one attempt (5.x) leaves time for the retry; a detector (5.x) asks brokers that failed whether they
answer. All producers of a trial share the outage.
"""

from __future__ import annotations

import dataclasses

from harness.model.avoiders import Avoider, AvoidingProducers
from harness.model.cluster import Topology
from harness.model.faults import Fault, NoFault, PauseNode
from harness.model.incident import Sign
from harness.model.loads import LocustUsers
from harness.model.log_events import Logged, LogPattern
from harness.model.rules import Claim, Expectation, Harm, Part, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import claim, confirmed, control, fact, of, ratio, refuted, side

STOPPED, NO_RETRIES = "incident-stopped", "better-no-retries"
NEWER_CLIENT, OLDER_CLIENT = "fix-newer-client", "fix-older-client"
CLIENT = "org.apache.rocketmq.client"
SEND = f"{CLIENT}.impl.producer.DefaultMQProducerImpl.sendDefaultImpl"
TABLE = f"{CLIENT}.latency.MQFaultStrategy.updateFaultItem"
DETECT = f"{CLIENT}.latency.LatencyFaultToleranceImpl.detectByOneRound"
NO_LIMIT = dict.fromkeys(RELEASES_4X, "DefaultMQProducer has no sendMsgMaxTimeoutPerRequest")
NO_DETECTOR = dict.fromkeys(RELEASES_4X, "ClientConfig has no startDetectorEnable")

COMMON = {"queues": 4, "timeout_ms": 3000, "retries": 2, "threads": 96}
OFF, ON, ONCE, LIMIT, LIMIT_ON, DETECTOR = "off", "on", "once", "limit", "limit-on", "detector"
LIMITED = {"sendMsgMaxTimeoutPerRequest": 500}
PLAIN = (Avoider(name=ON, **COMMON), Avoider(name=OFF, avoidance=False, **COMMON))  # type: ignore[arg-type]
TRIED_ONCE = Avoider(name=ONCE, **{**COMMON, "retries": 0})  # type: ignore[arg-type]
NEW = (
    Avoider(name=LIMIT, avoidance=False, settings=LIMITED, **COMMON),  # type: ignore[arg-type]
    Avoider(name=LIMIT_ON, settings=LIMITED, **COMMON),  # type: ignore[arg-type]
    Avoider(name=DETECTOR, settings={"startDetectorEnable": True}, **COMMON),  # type: ignore[arg-type]
)
USERS = LocustUsers(users=20, shape=((0.0, 0.25), (2.0, 0.5), (4.0, 1.0)))


def _load(*producers: Avoider, client: str = "") -> AvoidingProducers:
    """Thirty sends a second of each producer, whose routes are asked for every half a minute."""
    return AvoidingProducers(
        producers=(*PLAIN, *producers), rate_hz=30.0, poll_route_ms=30_000, locust=USERS, client_release=client
    )


def _late(producer: str, arm: str) -> Part:
    share = side(0.25, 0.01, "half of the sends for half of the time; or hardly any")
    return fact(of("late_of_producer_share", arm, producer=producer, when="during"), share)


def _fewer(producer: str, than: str, arm: str) -> Part:
    one, other = (of("late_of_producer_share", arm, producer=name, when="during") for name in (producer, than))
    return ratio(one, other, side(0.1, 1, "the first ones alone, or as many", bound=0.5))


def _helps(number: str, producer: str, than: str, says: str, how: str, expected: dict[str, Expectation],
           lacks: dict[str, str], arm: str = STOPPED) -> Claim:  # fmt: skip
    return claim(
        f"X-avoidance-mended-{number}", "A5", says,
        reading=f"While one of two brokers stands still for 40 s, at most half as many sends of the producer {how} fail or take "
        f"over a second as of the one with avoidance {than}.",
        expected=expected, lacks=lacks,
        parts={"fewer": _fewer(producer, than, arm), "late": control(_late(than, arm))},
        summary=f"The share of sends that failed or took over a second, {how}, was {{fewer}} times that with avoidance {than}.",
    )  # fmt: skip


LIMIT_01 = _helps(
    "01", LIMIT, OFF, "A limit for one attempt leaves time for the retry at another broker.",
    "with sendMsgMaxTimeoutPerRequest=500 and no avoidance",
    confirmed("an attempt ends after the limit, and the retry leaves its broker out", SEND, RELEASES_5X), NO_LIMIT,
)  # fmt: skip
LIMIT_02 = _helps(
    "02", LIMIT_ON, ON, "With such a limit avoidance keeps sends away from a broker that stands still.",
    "with sendMsgMaxTimeoutPerRequest=500 and avoidance",
    confirmed("no attempt begins without time, so that the broker that is well is not avoided", f"{SEND}, {TABLE}", RELEASES_5X),
    NO_LIMIT,
)  # fmt: skip
DETECTOR_03 = _helps(
    "03", DETECTOR, ON, "A detector keeps sends away from a broker that stands still.",
    "with startDetectorEnable and avoidance",
    confirmed("the broker that is well answers the detector and is reachable; the other one is not until it answers",
              f"{DETECT}, {CLIENT}.latency.MQFaultStrategy.selectOneMessageQueue", RELEASES_5X), NO_DETECTOR,
)  # fmt: skip
ONCE_04 = dataclasses.replace(_helps(
    "04", ONCE, OFF, "Without retries avoidance keeps sends away from a broker that stands still.",
    "with retryTimesWhenSendFailed=0 and avoidance",
    confirmed("the first timeouts alone fail, and the broker that is well is not avoided; 5.x tries again every 10 s", TABLE), {},
    NO_RETRIES,
), told=Told(
    weight=Weight.DELAY, harm=Harm.FAILS,
    holds="without retries, avoidance keeps sends away from a broker that stands still",
    fails="without retries, avoidance hardly keeps sends away from a broker that stands still",
    parts={"fewer": "without retries, {after} of the bad sends to a broker that stands still remain, {before} before"},
    do="leave retryTimesWhenSendFailed at 2 where avoidance is on",
))  # fmt: skip


def _back(number: str, arm: str, client: str, broker: str, expected: dict[str, Expectation]) -> Claim:
    at = side(0.5, 0.01, "its half, or none")
    return claim(
        f"X-avoidance-mended-{number}", "A5",
        f"At brokers of {broker} a client of {client} avoids a broker for as long as its own release does.",
        reading=f"From ten to twenty seconds after a broker of {broker} that stood still is well, a fourteenth and more of the "
        f"sends of a producer of {client} with avoidance go to it.",
        expected=expected,
        parts={
            "share": fact(of("to_faulty_share", arm, producer=ON, when="after"), at),
            "switch off": control(fact(of("to_faulty_share", arm, producer=OFF, when="after"), at)),
        },
        summary="The broker that had stood still got a part of the sends again {share}; without avoidance it did {switch off}.",
    )  # fmt: skip


NEWER_05 = _back(
    "05", NEWER_CLIENT, "5.5.0", "4.9.7",
    confirmed("the table is the client's: a failure avoids a broker for 10 s", TABLE, ("4.9.7",)),
)  # fmt: skip
OLDER_06 = _back(
    "06", OLDER_CLIENT, "4.9.7", "5.5.0",
    refuted("the table is the client's: a failure avoids a broker for 600 s", TABLE, ("5.5.0",)),
)  # fmt: skip


def _arm(name: str, what: str, load: AvoidingProducers, fault: Fault, *releases: str, trials: int = 0) -> Arm:
    return Arm(name=name, what=what, fault=fault, load=load, releases=releases, trials=trials)


STILL = PauseNode(node="broker-a")
SCENARIO = Scenario(
    name="avoidance-mended",
    title="What helps avoidance while a broker stands still",
    article="A5",
    summary="Producers without retries, with a limit for one attempt, with a detector, with avoidance alone or none of them share "
    "an outage; and producers of 5.5.0 at brokers of 4.9.7, and the other way round.",
    symptom="One broker stands still, and sends fail or take seconds although sendLatencyFaultEnable=true.",
    advice="On 5.3.3 and 5.5.0 set sendMsgMaxTimeoutPerRequest to well under the timeout; on 4.6.0 and 4.9.7 "
    "retryTimesWhenSendFailed=0 spares "
    "the broker that is well.",
    cures=("X-avoidance-mended-01", "X-avoidance-mended-04"),
    sign=Sign(
        pattern=LogPattern.NO_TIME_LEFT,
        events=(Logged.NO_TIME_LEFT,),
        because="sends that had waited for their whole timeout at a broker that stands still were tried again with no time "
        "left; with sendLatencyFaultEnable the broker that is well is avoided for it, too",
    ),
    topology=Topology(name="two-masters", masters=2),
    arms=(
        _arm("baseline", "Both brokers are well.", _load(), NoFault(), trials=1),
        _arm(STOPPED, "The first broker stands still.", _load(*NEW), STILL, *RELEASES_5X),
        _arm(NO_RETRIES, "The same with a producer that does not retry.", _load(TRIED_ONCE), STILL),
        _arm(NEWER_CLIENT, "The same with clients of 5.5.0.", _load(client="5.5.0"), STILL, "4.9.7"),
        _arm(OLDER_CLIENT, "The same with clients of 4.9.7.", _load(client="4.9.7"), STILL, "5.5.0"),
    ),
    phases=Phases(steady_s=10.0, hold_s_min=40.0, hold_s_max=40.0, recover_s=21.0),
    claims=(LIMIT_01, LIMIT_02, DETECTOR_03, ONCE_04, NEWER_05, OLDER_06),
    budget=TrialBudget(trials=5, deployments=5, extra_trials=1),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=False,
    hiccup_ms_max=500.0,
    schedule="side by side",
    cluster_per_trial=True,
    extra_measures=("p99_of_producer_ms", "p999_of_producer_ms", "accepted_of_producer_per_s"),
)
