"""A1, A2: one of two masters is busy. What does the client do with a refusal, and does growing the cluster help?

Two masters, the first one's append stalled for 1200 ms; Locust's users make the rate. Sends with the client's own
defaults (up to two retries), by kind of send: synchronous (256 threads, more than there are sends in a stall, so that
the schedule is kept), asynchronous and one-way, with every attempt recorded.

Then the same total load on one master and on two, each of which stalls by itself: twice in 14 s, at moments of its own that
the trial's seed draws. With twice the disks there are twice the stalls, each of which meets half of the sends: without retries
that is the same in the end. With them a refused send may be taken by the master that is well, if the client asks it and its
disk does not stall as well just then. That disks stall less with less load is not tried: their stalls are as rare in both.
"""

from __future__ import annotations

import dataclasses

from harness.model.cluster import Topology
from harness.model.faults import AppendStall, NoFault
from harness.model.loads import LocustUsers, OpenLoopSends
from harness.model.rules import Harm, Part, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import (
    claim,
    confirmed,
    control,
    fact,
    happens,
    mean,
    measured_share,
    never,
    of,
    ratio,
    refuted,
    side,
)

STALL_MS, RATE_HZ = 1200, 200
USERS = LocustUsers(users=20)
SYNC = OpenLoopSends(mode="sync", threads=256, retries=2, send_timeout_ms=3000, attempts=True, locust=USERS)
ASYNC = OpenLoopSends(mode="async", retries=2, send_timeout_ms=3000, attempts=True, locust=USERS)
ONE_WAY = OpenLoopSends(mode="oneway", retries=2, send_timeout_ms=3000, attempts=True, locust=USERS)
NO_RETRIES = OpenLoopSends(locust=USERS)
OTHER_MASTER = dataclasses.replace(NO_RETRIES, topic_on="last", probes=("send",))
"""Without sends of its own the first master would have no append to stall."""
ON_ONE, ONCE = dataclasses.replace(SYNC, topic_on="first"), dataclasses.replace(SYNC, retries=0)
ONCE_ON_ONE = dataclasses.replace(ONCE, topic_on="first")
TOTAL_RATE_HZ = 400
STALL = {"stall_ms": STALL_MS, "rate_hz": RATE_HZ}
TOTAL = {"stall_ms": STALL_MS, "rate_hz": TOTAL_RATE_HZ}
ONE_STALLS = AppendStall()
ONE_AT_RANDOM = AppendStall(times=2, within_s=14.0)
"""Each disk stalls in a sixth of the time, two disks at once in a thirtieth."""
EACH_AT_RANDOM = dataclasses.replace(ONE_AT_RANDOM, every_master=True)
ONE_MASTER, TWO_MASTERS = "incident-one-master", "fix-two-masters"
ONCE_ONE, ONCE_TWO = "incident-one-master-no-retries", "fix-two-masters-no-retries"
ON_A_WELL_ONE = "baseline-other-master-stalls"

MOST = side(1, 0, "all that are refused, or none: the client's code decides")
IN_A_STALL = 480
"""Sends to a stalled master that are refused: all of 1200 ms."""

SEND = "org.apache.rocketmq.client.impl.producer.DefaultMQProducerImpl.sendDefaultImpl"
REPEATED_SINCE_5X = refuted(
    "SYSTEM_BUSY, the code of a refusal, is not among the codes after which a synchronous send is repeated; only "
    "PC_SYNCHRONIZED, which these brokers answer with SYSTEM_ERROR, is", SEND, RELEASES_4X,
) | confirmed(
    "SYSTEM_BUSY is among the codes after which a synchronous send is repeated, on another broker",
    f"{SEND}, org.apache.rocketmq.client.producer.DefaultMQProducer.retryResponseCodes", RELEASES_5X,
)  # fmt: skip
AS_THE_CLIENT_TRIES = refuted(
    "a refused synchronous send is tried nowhere else, and two masters that each stall as the one did refuse as many in all",
    SEND, RELEASES_4X,
) | confirmed(
    "a refused synchronous send is tried on the other broker, whose disk seldom stalls at the same time",
    f"{SEND}, org.apache.rocketmq.client.producer.DefaultMQProducer.retryResponseCodes", RELEASES_5X,
)  # fmt: skip
HALF_OR_AS_MANY = side(0.5, 1, "the other master takes half of what one refuses, or nothing of it")


def _of_one_master(measure: str, two: str = TWO_MASTERS, one: str = ONE_MASTER) -> Part:
    return ratio(of(measure, two), of(measure, one), HALF_OR_AS_MANY)


BUSY_03 = claim(
    "BUSY-03", "A1, A2", "On the first four the client chooses another broker and retries; few such errors do no great harm.",
    reading="Of the synchronous sends that one of two brokers refuses with one of the first four keywords, with the client's "
    "defaults, most go to the other broker next, and of all sends around the stall hardly any fails for good.",
    expected=REPEATED_SINCE_5X,
    parts={
        "elsewhere": measured_share(of("retried_elsewhere_share", "incident", keyword="first-four"), MOST),
        "failed for good": measured_share(of("failed_share", "incident"), side(0, 0.14, "none, or 120 of 840 around a stall")),
        "refused": control(happens(of("refused_count", "incident", keyword="first-four"), 20, "200 ms of 100 a second",
                                   slack_ms=200, noun="stalls")),
    }, summary="Of the synchronous sends that were refused with one of the four, {elsewhere} were tried on the other broker next; "
    "of all sends, {failed for good} failed for good.",
    told=Told(
        weight=Weight.OUTAGE, harm=Harm.FAILS,
        holds="a send that a busy broker refuses goes to another broker",
        fails="a send that a busy broker refuses fails for good: no other broker is tried",
    ),
)  # fmt: skip

BUSY_17 = claim(
    "BUSY-17", "A1", "A request that is failed fast lets the client retry quickly, and succeed.",
    reading="Of the synchronous sends that are refused with any of the keywords, with the client's defaults and a second broker "
    "that is well, most succeed in the end, within 100 ms of the refusal.",
    expected=REPEATED_SINCE_5X,
    parts={
        "succeeded": measured_share(of("refused_then_ok_share", "incident", keyword="any"), MOST),
        "within 100 ms": measured_share(of("refused_ok_soon_share", "incident", keyword="any"), MOST),
    },
    summary="Of the refused synchronous sends, {succeeded} succeeded in the end, {within 100 ms} within 100 ms of the refusal.",
    told=Told(
        weight=Weight.OUTAGE, harm=Harm.FAILS,
        holds="a refused send is tried again at once and succeeds",
        fails="a refused send is not tried again",
    ),
)  # fmt: skip

BUSY_19 = claim(
    "BUSY-19", "A1", "Where there are too many such errors, growing the cluster helps.",
    reading="At equal total load, with the client's defaults, synchronous sends to two masters, each of which stalls by itself as "
    "often as the single one does, are refused for good at most seven tenths as often, and at most seven tenths as many have no "
    "acknowledgement within 500 ms: a send that is refused after its 200 ms and taken by the other broker has.",
    expected=AS_THE_CLIENT_TRIES,
    parts={"refused": _of_one_master("refused_for_good_count"), "not in time": _of_one_master("not_in_time_count")},
    beside={
        "refused once": _of_one_master("refused_for_good_count", ONCE_TWO, ONCE_ONE),
        "acknowledged late": mean(of("acknowledged_late_count", TWO_MASTERS), side(0, 40, "none, or as many as wait 200 ms")),
    },
    summary="At equal total load two masters, each of which stalled by itself as often as the one did, refused {refused} times "
    "as many sends for good, and {not in time} times as many had no acknowledgement within 500 ms; without retries they refused "
    "{refused once} times as many. Later than that two masters acknowledged {acknowledged late} sends a trial.",
    told=Told(
        weight=Weight.OUTAGE, harm=Harm.FAILS,
        holds="a second master takes most sends that a master whose disk stalls refuses",
        fails="a second master takes no send that a master whose disk stalls refuses",
    ),
)  # fmt: skip

BUSY_06 = claim(
    "BUSY-06", "A1, A2", "For data that must not be lost: grow the cluster, or move the topic to another one.",
    reading="With the client's defaults at most seven tenths as many synchronous sends are refused for good on two masters, each "
    "of which stalls by itself as often as the single one does, and none that one acknowledged during a stall is absent from its "
    "store. On another master that does not stall none is refused; one that stalls as often refuses as many, by arithmetic.",
    expected=AS_THE_CLIENT_TRIES,
    parts={
        "refused": _of_one_master("refused_for_good_count"),
        "absent": never(of("lost_of_stall_count", TWO_MASTERS), 2, "what waits in two send threads when a stall begins"),
        "on a well one": control(fact(of("rejected_count", ON_A_WELL_ONE, keyword="any"),
                                      side(0, IN_A_STALL, "none is refused, or as many as on one that stalls"))),
    }, summary="Two masters, each of which stalled by itself as often as the one did, refused {refused} times as many sends for "
    "good; of what was acknowledged in a stall, {#absent} had messages absent. On a master that was well sends were refused "
    "{!on a well one}.",
    told=Told(
        weight=Weight.OUTAGE, harm=Harm.FAILS,
        holds="a topic on two masters has few sends refused for good while a disk stalls",
        fails="a topic on two masters has as many sends refused for good as on one while disks stall",
    ),
)  # fmt: skip

SCENARIO = Scenario(
    name="busy-broker-of-two",
    title="One of two brokers is busy, and the client has a choice",
    article="A1, A2",
    summary="Two masters, an append of the first one stalled: what the client tries next by kind of send, and how the "
    "refusals change when the topic is on one master, on both, or on the other one.",
    symptom="One of two brokers is busy, and sends fail although the other one is well.",
    advice="Upgrade the clients to 5.3.3 or newer, which try a refused synchronous send at the other broker; with older ones "
    "another master leaves as many refusals.",
    cures=("BUSY-03", "BUSY-19"),
    no_sign="Nothing but the lines of append-stall and append-lock-over-1s, of one broker only: compare the brokers.",
    topology=Topology(name="two-masters", masters=2),
    arms=(
        Arm(
            name="baseline",
            what="Synchronous sends to both masters, no stall.",
            fault=NoFault(),
            load=SYNC,
            cells=({"stall_ms": 0, "rate_hz": RATE_HZ},),
        ),
        Arm(
            name="incident",
            what="Synchronous sends with the client's defaults; an append of the first master stalls for 1200 ms.",
            fault=ONE_STALLS,
            load=SYNC,
            cells=(STALL,),
        ),
        Arm(
            name="incident-async",
            what="The same, asynchronous.",
            fault=ONE_STALLS,
            load=ASYNC,
            cells=(STALL,),
        ),
        Arm(
            name="incident-oneway",
            what="The same, one-way.",
            fault=ONE_STALLS,
            load=ONE_WAY,
            cells=(STALL,),
        ),
        Arm(
            name=ONE_MASTER,
            what="Synchronous sends with the client's defaults to one master, which stalls at random moments.",
            fault=ONE_AT_RANDOM,
            load=ON_ONE,
            cells=(STALL,),
            trials=10,
        ),
        Arm(
            name=TWO_MASTERS,
            what="The article's advice: the same total rate on two masters, each of which stalls as often by itself.",
            fault=EACH_AT_RANDOM,
            load=SYNC,
            cells=(STALL,),
            trials=10,
        ),
        Arm(
            name=ONCE_ONE,
            what="One master as above, without retries.",
            fault=ONE_AT_RANDOM,
            load=ONCE_ON_ONE,
            cells=(STALL,),
            trials=5,
        ),
        Arm(
            name=ONCE_TWO,
            what="Two masters as above, without retries.",
            fault=EACH_AT_RANDOM,
            load=ONCE,
            cells=(STALL,),
            trials=5,
        ),
        Arm(
            name=ON_A_WELL_ONE,
            what="The same total rate on the other master, which does not stall.",
            fault=ONE_STALLS,
            load=OTHER_MASTER,
            cells=(TOTAL,),
            trials=2,
        ),
    ),
    phases=Phases(steady_s=0.5, hold_s_min=0.5, hold_s_max=0.5, recover_s=0.1),
    claims=(BUSY_03, BUSY_06, BUSY_17, BUSY_19),
    budget=TrialBudget(trials=7, deployments=10, extra_trials=1),
    quick_budget=TrialBudget(trials=3, deployments=1),
    quick_cells={"incident-async": (), "incident-oneway": (), ONCE_ONE: (), ONCE_TWO: ()},
    exclusive=True,
    hiccup_ms_max=40.0,
    injections=("byteman",),
    extra_measures=("attempts", "ok_after_ms"),
)
"""Seven trials, each in a deployment of its own, since three of the claims have two parts by sides, either of which refutes them.
Ten where stalls are at random, two of each disk: that is what "never" takes, and which stalls coincide is chance."""
