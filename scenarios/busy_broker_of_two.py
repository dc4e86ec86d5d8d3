"""A1, A2: one of two masters is busy. What does the client do with a refusal, and does growing the cluster help?

Two masters, the first one's append stalled for 1200 ms. Sends with the client's own defaults (up to two retries), by kind
of send: synchronous (256 threads, more than there are sends in a stall, so that the schedule is kept), asynchronous and
one-way, with every attempt recorded. Then the same total load, retries off, on one of the masters, on both, and on the
other one.
"""

from __future__ import annotations

from harness.model.cluster import Topology
from harness.model.faults import AppendStall, NoFault
from harness.model.loads import OpenLoopSends
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.claims import (
    CONFIRMED,
    REFUTED,
    RELEASES_4X,
    claim,
    expect,
    mean,
    median,
    of,
    ratio,
)

STALL_MS, RATE_HZ = 1200, 200
SYNC = OpenLoopSends(mode="sync", threads=256, retries=2, send_timeout_ms=3000, attempts=True)
ASYNC = OpenLoopSends(mode="async", retries=2, send_timeout_ms=3000, attempts=True)
ONE_WAY = OpenLoopSends(mode="oneway", retries=2, send_timeout_ms=3000, attempts=True)
TOTAL_RATE_HZ = 400
STALL = {"stall_ms": STALL_MS, "rate_hz": RATE_HZ}
TOTAL = {"stall_ms": STALL_MS, "rate_hz": TOTAL_RATE_HZ}


BUSY_03 = claim(
    "BUSY-03", "A1, A2", "On the first four the client chooses another broker and retries; few such errors do no great harm.",
    reading="Of the synchronous sends that one of two brokers refuses with one of the first four keywords, with the client's "
    "defaults, most go to the other broker next; at most 1 % of all sends around the stall fail for good.",
    expected=expect(
        REFUTED, "SYSTEM_BUSY, the code of a refusal, is not among the codes after which a synchronous send is repeated; only "
        "PC_SYNCHRONIZED, which these brokers answer with SYSTEM_ERROR, is",
        "org.apache.rocketmq.client.impl.producer.DefaultMQProducerImpl.sendDefaultImpl", RELEASES_4X
    )
    | expect(
        CONFIRMED, "SYSTEM_BUSY is among the codes after which a synchronous send is repeated, on another broker",
        "org.apache.rocketmq.client.impl.producer.DefaultMQProducerImpl.sendDefaultImpl, "
        "org.apache.rocketmq.client.producer.DefaultMQProducer.retryResponseCodes", ("5.3.3",)
    ),
    parts={
        "went to the other broker": mean(
            of("retried_elsewhere_share", "incident", keyword="first-four"), ">=", 0.5, "share",
            "More than half: what the client does, not what it does now and then.", units_min=3),
        "failed for good": median(
            of("failed_share", "incident"), "<=", 0.01, "share",
            "One in a hundred of the sends of four seconds around a stall that refuses one in seven.", units_min=3),
        "refused at least once": mean(
            of("refused_count", "incident", keyword="first-four"), ">=", 5.0, "sends a stall",
            "100 sends a second meet 200 ms of a busy page cache: 20, and those that waited; a quarter is enough.", units_min=3),
    },
    summary="Of {refused at least once} synchronous sends a stall that were refused with one of the four, {went to the other "
    "broker} were tried on the other broker next; {failed for good} of all sends failed for good.",
)  # fmt: skip

BUSY_17 = claim(
    "BUSY-17", "A1", "A request that is failed fast lets the client retry quickly, and succeed.",
    reading="Of the synchronous sends that are refused with any of the keywords, with the client's defaults and a second broker "
    "that is well, most succeed in the end, within 100 ms of the refusal.",
    expected=expect(
        REFUTED, "SYSTEM_BUSY, the code of a refusal, is not among the codes after which a synchronous send is repeated; only "
        "PC_SYNCHRONIZED, which these brokers answer with SYSTEM_ERROR, is",
        "org.apache.rocketmq.client.impl.producer.DefaultMQProducerImpl.sendDefaultImpl", RELEASES_4X
    )
    | expect(
        CONFIRMED, "SYSTEM_BUSY is among the codes after which a synchronous send is repeated, on another broker",
        "org.apache.rocketmq.client.impl.producer.DefaultMQProducerImpl.sendDefaultImpl, "
        "org.apache.rocketmq.client.producer.DefaultMQProducer.retryResponseCodes", ("5.3.3",)
    ),
    parts={
        "succeeded": mean(
            of("refused_then_ok_share", "incident", keyword="any"), ">=", 0.5, "share",
            "More than half of those that were failed fast.", units_min=3),
        "succeeded within 100 ms": mean(
            of("refused_ok_soon_share", "incident", keyword="any"), ">=", 0.5, "share", "Quickly: half of the time that the "
            "request had been let wait before it was failed fast. A share, since what never succeeds has no time.", units_min=3),
    },
    summary="Of the refused synchronous sends {succeeded} succeeded in the end, {succeeded within 100 ms} within 100 ms of the "
    "refusal.",
)  # fmt: skip


BUSY_19 = claim(
    "BUSY-19", "A1", "Where there are too many such errors, growing the cluster helps.",
    reading="At equal total load, a topic on two masters has at most three quarters of the refusals that it has on one, when "
    "one master's append stalls in the same way.",
    expected=expect(
        CONFIRMED, "refusals follow the arrivals at the broker that is busy, and a second master takes half of them",
        "org.apache.rocketmq.broker.latency.BrokerFastFailure.cleanExpiredRequest"
    ),
    parts={
        "refused with two masters": ratio(
            of("rejected_count", "fix-two-masters", keyword="any"), of("rejected_count", "incident-one-master", keyword="any"),
            "<=", 0.75, "of the refusals",
            "At equal total load the busy one of two gets half; what leaves more than three quarters is not worth a machine.",
            units_min=3),
    },
    summary="At the same total load two masters had {refused with two masters} of the refusals of one.",
)  # fmt: skip

BUSY_06 = claim(
    "BUSY-06", "A1, A2", "For data that must not be lost: grow the cluster, or move the topic to another one.",
    reading="The advice by its consequence: with the topic on a master that does not stall, none of its sends is refused; with "
    "the cluster grown, fewer are; in neither is an acknowledged message absent from the store.",
    expected=expect(
        CONFIRMED, "a broker refuses for its own lock and its own queue only",
        "org.apache.rocketmq.broker.processor.SendMessageProcessor.rejectRequest"
    ),
    parts={
        "refused after the move": mean(
            of("rejected_count", "fix-topic-moved", keyword="any"), "<=", 1.5, "requests a stall",
            "None is expected; three stalls without any bound the mean below 1.3.", units_min=3),
        "refused with two masters": ratio(
            of("rejected_count", "fix-two-masters", keyword="any"), of("rejected_count", "incident-one-master", keyword="any"),
            "<=", 0.75, "of the refusals",
            "At equal total load the busy one of two gets half; what leaves more than three quarters is not worth a machine.",
            units_min=3),
        "absent after the move": mean(
            of("lost_count", "fix-topic-moved"), "<=", 1.5, "messages a stall",
            "None is expected; three stalls without any bound the mean below 1.3.", units_min=3),
        "absent with two masters": mean(
            of("lost_count", "fix-two-masters"), "<=", 1.5, "messages a stall",
            "None is expected; three stalls without any bound the mean below 1.3.", units_min=3),
    },
    summary="On a master that does not stall {refused after the move} sends a stall were refused, on two masters {refused with "
    "two masters} of those on one; acknowledged and absent were {absent after the move} and {absent with two masters}.",
)  # fmt: skip

SCENARIO = Scenario(
    name="busy-broker-of-two",
    title="One of two brokers is busy, and the client has a choice",
    article="A1, A2",
    summary="Two masters, an append of the first one stalled: what the client tries next by kind of send, and how the "
    "refusals change when the topic is on one master, on both, or on the other one.",
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
            fault=AppendStall(),
            load=SYNC,
            cells=(STALL,),
            trials=8,  # A share that is zero in each of eight trials lies below half with 95 %.
        ),
        Arm(
            name="incident-async",
            what="The same, asynchronous.",
            fault=AppendStall(),
            load=ASYNC,
            cells=(STALL,),
        ),
        Arm(
            name="incident-oneway",
            what="The same, one-way.",
            fault=AppendStall(),
            load=ONE_WAY,
            cells=(STALL,),
        ),
        Arm(
            name="incident-one-master",
            what="Twice that rate on the stalled master alone, retries off.",
            fault=AppendStall(),
            load=OpenLoopSends(topic_on="first"),
            cells=(TOTAL,),
        ),
        Arm(
            name="fix-two-masters",
            what="The article's advice: the same total rate on both masters.",
            fault=AppendStall(),
            load=OpenLoopSends(),
            cells=(TOTAL,),
        ),
        Arm(
            name="fix-topic-moved",
            what="The article's advice: the same total rate on the other master; the stalled one has other sends.",
            fault=AppendStall(),
            load=OpenLoopSends(topic_on="last", probes=("send",)),
            cells=(TOTAL,),
        ),
    ),
    phases=Phases(steady_s=0.5, hold_s_min=0.5, hold_s_max=0.5, recover_s=0.1),
    claims=(BUSY_03, BUSY_06, BUSY_17, BUSY_19),
    budget=TrialBudget(trials=5, deployments=1, extra_trials=3),
    quick_budget=TrialBudget(trials=3, deployments=1),
    quick_cells={"incident-async": (), "incident-oneway": ()},
    exclusive=True,
    hiccup_ms_max=40.0,
    injections=("byteman",),
    extra_measures=("attempts", "ok_after_ms"),
)
