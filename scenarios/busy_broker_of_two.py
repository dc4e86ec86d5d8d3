"""A1, A2: one of two masters is busy. What does the client do with a refusal, and does growing the cluster help?

Two masters, the first one's append stalled for 1200 ms; Locust's users make the rate. Sends with the client's own
defaults (up to two retries), by kind of send: synchronous (256 threads, more than there are sends in a stall, so that
the schedule is kept), asynchronous and one-way, with every attempt recorded. Then the same total load, retries off, on
one master that stalls, on two that both stall, and on another one that stalls as often by itself: a second master helps
if refusals become fewer although each machine stalls as before. That machines stall less with less load is not tried.
"""

from __future__ import annotations

import dataclasses

from harness.model.cluster import Topology
from harness.model.faults import AppendStall, NoFault
from harness.model.loads import LocustUsers, OpenLoopSends
from harness.model.rules import Harm, Part, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import claim, confirmed, control, happens, measured_share, never, of, ratio, refuted, side

STALL_MS, RATE_HZ = 1200, 200
USERS = LocustUsers(users=20)
SYNC = OpenLoopSends(mode="sync", threads=256, retries=2, send_timeout_ms=3000, attempts=True, locust=USERS)
ASYNC = OpenLoopSends(mode="async", retries=2, send_timeout_ms=3000, attempts=True, locust=USERS)
ONE_WAY = OpenLoopSends(mode="oneway", retries=2, send_timeout_ms=3000, attempts=True, locust=USERS)
NO_RETRIES = OpenLoopSends(locust=USERS)
FIRST_MASTER = dataclasses.replace(NO_RETRIES, topic_on="first")
OTHER_MASTER = dataclasses.replace(NO_RETRIES, topic_on="last", probes=("send",))
"""Without sends of its own the first master would have no append to stall."""
TOTAL_RATE_HZ = 400
STALL = {"stall_ms": STALL_MS, "rate_hz": RATE_HZ}
TOTAL = {"stall_ms": STALL_MS, "rate_hz": TOTAL_RATE_HZ}
ONE_STALLS, EACH_STALLS = AppendStall(), AppendStall(every_master=True)
ONE_MASTER, TWO_MASTERS, MOVED, ON_A_WELL_ONE = (
    "incident-one-master", "fix-two-masters", "fix-topic-moved", "baseline-other-master-stalls",
)  # fmt: skip

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
AS_MANY_IN_ALL = refuted(
    "a stall refuses what arrives meanwhile: two masters that each stall as before have twice the stalls with half the arrivals",
    "org.apache.rocketmq.broker.latency.BrokerFastFailure.cleanExpiredRequest",
)  # fmt: skip


def _of_one_master(arm: str) -> Part:
    refused = of("rejected_count", arm, keyword="any")
    return ratio(
        refused, of("rejected_count", ONE_MASTER, keyword="any"), side(0.5, 1, "half of them, or as many in all")
    )


def _none_absent(arm: str) -> Part:
    return never(of("lost_count", arm), IN_A_STALL, "what a stall refuses, were it acknowledged", noun="stalls")


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
    reading="At equal total load a topic on two masters, each of which stalls as the single one does, has at most seven "
    "tenths of its refusals. Stalls that become rarer with less load are another scope, and not tried.",
    expected=AS_MANY_IN_ALL,
    parts={"two masters": _of_one_master(TWO_MASTERS)},
    summary="At equal total load, with retries off, two masters that stalled as the one did had {two masters} times its refusals.",
)  # fmt: skip

BUSY_06 = claim(
    "BUSY-06", "A1, A2", "For data that must not be lost: grow the cluster, or move the topic to another one.",
    reading="On two masters, and on another one, that each stall as the first does, at most seven tenths as many sends are "
    "refused, and none that was acknowledged is absent. On a master that does not stall none is refused at all.",
    expected=AS_MANY_IN_ALL,
    parts={
        "two masters": _of_one_master(TWO_MASTERS), "moved": _of_one_master(MOVED),
        "absent of two": _none_absent(TWO_MASTERS), "absent of moved": _none_absent(MOVED),
        "on a well one": control(never(of("rejected_count", ON_A_WELL_ONE, keyword="any"), IN_A_STALL, "as on one that stalls")),
    }, summary="With retries off, two masters that each stalled as the first did had {two masters} times its refusals, and "
    "another one that did had {moved} times as many; acknowledged messages were absent from the two {absent of two} and from the "
    "other one {absent of moved}. On a master that was well sends were refused {on a well one}.",
)  # fmt: skip

SCENARIO = Scenario(
    name="busy-broker-of-two",
    title="One of two brokers is busy, and the client has a choice",
    article="A1, A2",
    summary="Two masters, an append of the first one stalled: what the client tries next by kind of send, and how the "
    "refusals change when the topic is on one master, on both, or on the other one.",
    symptom="One of two brokers is busy, and sends fail although the other one is well.",
    advice="Upgrade the clients to 5.3.3 or newer, which try a refused synchronous send at the other broker; another master as "
    "such leaves as many refusals.",
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
            what="Twice that rate on the stalled master alone, retries off.",
            fault=ONE_STALLS,
            load=FIRST_MASTER,
            cells=(TOTAL,),
        ),
        Arm(
            name=TWO_MASTERS,
            what="The article's advice: the same total rate on both masters, which both stall.",
            fault=EACH_STALLS,
            load=NO_RETRIES,
            cells=(TOTAL,),
        ),
        Arm(
            name=MOVED,
            what="The article's advice: the same total rate on the other master, which stalls as well.",
            fault=EACH_STALLS,
            load=OTHER_MASTER,
            cells=(TOTAL,),
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
    budget=TrialBudget(trials=7, deployments=7, extra_trials=1),
    quick_budget=TrialBudget(trials=3, deployments=1),
    quick_cells={"incident-async": (), "incident-oneway": ()},
    exclusive=True,
    hiccup_ms_max=40.0,
    injections=("byteman",),
    extra_measures=("attempts", "ok_after_ms"),
)
"""Seven deployments, since three of the claims have two parts by sides, either of which refutes them."""
