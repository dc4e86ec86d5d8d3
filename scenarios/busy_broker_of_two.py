"""A1, A2: one of two masters is busy. What does the client do with a refusal, and does growing the cluster help?

Two masters, the first one's append stalled for 1200 ms. Sends with the client's own defaults (up to two retries), by kind
of send: synchronous (256 threads, more than there are sends in a stall, so that the schedule is kept), asynchronous and
one-way, with every attempt recorded. Then the same total load, retries off, on one of the masters, on both, and on the
other one.
"""

from __future__ import annotations

from harness.model.claims import Claim, Expectation, Part, Quantity, Statistic
from harness.model.cluster import Topology
from harness.model.faults import AppendStall, NoFault
from harness.model.loads import OpenLoopSends
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from harness.model.verdicts import VerdictKind
from scenarios.expectations import expect, on_4x_and_5x

STALL_MS, RATE_HZ = 1200, 200
SYNC = OpenLoopSends(mode="sync", threads=256, retries=2, send_timeout_ms=3000, attempts=True)
ASYNC = OpenLoopSends(mode="async", retries=2, send_timeout_ms=3000, attempts=True)
ONE_WAY = OpenLoopSends(mode="oneway", retries=2, send_timeout_ms=3000, attempts=True)
TOTAL_RATE_HZ = 400
STALL = {"stall_ms": STALL_MS, "rate_hz": RATE_HZ}
TOTAL = {"stall_ms": STALL_MS, "rate_hz": TOTAL_RATE_HZ}

RETRIES = "org.apache.rocketmq.client.impl.producer.DefaultMQProducerImpl.sendDefaultImpl"
NOT_REPEATED = Expectation(
    verdict=VerdictKind.REFUTED,
    because="SYSTEM_BUSY, the code of a refusal, is not among the codes after which a synchronous send is repeated; only "
    "PC_SYNCHRONIZED, which these brokers answer with SYSTEM_ERROR, is",
    source=RETRIES,
)
REPEATED = Expectation(
    verdict=VerdictKind.CONFIRMED,
    because="SYSTEM_BUSY is among the codes after which a synchronous send is repeated, on another broker",
    source=f"{RETRIES}, org.apache.rocketmq.client.producer.DefaultMQProducer.retryResponseCodes",
)


def _refused(measure: str, statistic: Statistic, keyword: str) -> Quantity:
    return Quantity(measure=measure, arm="incident", statistic=statistic, where={"keyword": (keyword,)})


BUSY_03 = Claim(
    id="BUSY-03",
    article="A1, A2",
    says="On the first four the client chooses another broker and retries; few such errors do no great harm.",
    reading="Of the synchronous sends that one of two brokers refuses with one of the first four keywords, with the client's "
    "defaults, most go to the other broker next; at most 1 % of all sends around the stall fail for good.",
    parts=(
        Part(
            name="went to the other broker",
            quantity=_refused("retried_elsewhere_share", Statistic.MEAN, "first-four"),
            relation=">=",
            bound=0.5,
            unit="share",
            why="More than half: what the client does, not what it does now and then.",
            units_min=3,
        ),
        Part(
            name="failed for good",
            quantity=Quantity(measure="failed_share", arm="incident", statistic=Statistic.MEDIAN),
            relation="<=",
            bound=0.01,
            unit="share",
            why="One in a hundred of the sends of four seconds around a stall that refuses one in seven.",
            units_min=3,
        ),
        Part(
            name="refused at least once",
            quantity=_refused("refused_count", Statistic.MEAN, "first-four"),
            relation=">=",
            bound=5.0,
            unit="sends a stall",
            why="100 sends a second meet 200 ms of a busy page cache: 20, and those that waited; a quarter is enough.",
            units_min=3,
        ),
    ),
    expected=on_4x_and_5x(NOT_REPEATED, REPEATED),
    summary="Of {refused at least once} synchronous sends a stall that were refused with one of the four, "
    "{went to the other broker} were tried on the other broker next; {failed for good} of all sends failed for good.",
)

BUSY_17 = Claim(
    id="BUSY-17",
    article="A1",
    says="A request that is failed fast lets the client retry quickly, and succeed.",
    reading="Of the synchronous sends that are refused with any of the keywords, with the client's defaults and a second "
    "broker that is well, most succeed in the end, within 100 ms of the refusal.",
    parts=(
        Part(
            name="succeeded",
            quantity=_refused("refused_then_ok_share", Statistic.MEAN, "any"),
            relation=">=",
            bound=0.5,
            unit="share",
            why="More than half of those that were failed fast.",
            units_min=3,
        ),
        Part(
            name="succeeded within 100 ms",
            quantity=_refused("refused_ok_soon_share", Statistic.MEAN, "any"),
            relation=">=",
            bound=0.5,
            unit="share",
            why="Quickly: half of the time that the request had been let wait before it was failed fast. A share, since what "
            "never succeeds has no time.",
            units_min=3,
        ),
    ),
    expected=on_4x_and_5x(NOT_REPEATED, REPEATED),
    summary="Of the refused synchronous sends {succeeded} succeeded in the end, {succeeded within 100 ms} within 100 ms of the "
    "refusal.",
)

GROWN = Part(
    name="refused with two masters",
    quantity=Quantity(
        measure="rejected_count",
        arm="fix-two-masters",
        statistic=Statistic.RATIO_OF_MEANS,
        where={"keyword": ("any",)},
        against=Quantity(
            measure="rejected_count",
            arm="incident-one-master",
            statistic=Statistic.MEAN,
            where={"keyword": ("any",)},
        ),
    ),
    relation="<=",
    bound=0.75,
    unit="of the refusals",
    why="At equal total load the busy one of two gets half; what leaves more than three quarters is not worth a machine.",
    units_min=3,
)

BUSY_19 = Claim(
    id="BUSY-19",
    article="A1",
    says="Where there are too many such errors, growing the cluster helps.",
    reading="At equal total load, a topic on two masters has at most three quarters of the refusals that it has on one, "
    "when one master's append stalls in the same way.",
    parts=(GROWN,),
    expected=expect(
        VerdictKind.CONFIRMED,
        "refusals follow the arrivals at the broker that is busy, and a second master takes half of them",
        "org.apache.rocketmq.broker.latency.BrokerFastFailure.cleanExpiredRequest",
    ),
    summary="At the same total load two masters had {refused with two masters} of the refusals of one.",
)

BUSY_06 = Claim(
    id="BUSY-06",
    article="A1, A2",
    says="For data that must not be lost: grow the cluster, or move the topic to another one.",
    reading="The advice by its consequence: with the topic on a master that does not stall, none of its sends is refused; "
    "with the cluster grown, fewer are; in neither is an acknowledged message absent from the store.",
    parts=(
        Part(
            name="refused after the move",
            quantity=Quantity(
                measure="rejected_count",
                arm="fix-topic-moved",
                statistic=Statistic.MEAN,
                where={"keyword": ("any",)},
            ),
            relation="<=",
            bound=1.5,
            unit="requests a stall",
            why="None is expected; three stalls without any bound the mean below 1.3.",
            units_min=3,
        ),
        GROWN,
        *(
            Part(
                name=f"absent {name}",
                quantity=Quantity(measure="lost_count", arm=arm, statistic=Statistic.MEAN),
                relation="<=",
                bound=1.5,
                unit="messages a stall",
                why="None is expected; three stalls without any bound the mean below 1.3.",
                units_min=3,
            )
            for name, arm in (("after the move", "fix-topic-moved"), ("with two masters", "fix-two-masters"))
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "a broker refuses for its own lock and its own queue only",
        "org.apache.rocketmq.broker.processor.SendMessageProcessor.rejectRequest",
    ),
    summary="On a master that does not stall {refused after the move} sends a stall were refused, on two masters "
    "{refused with two masters} of those on one; acknowledged and absent were {absent after the move} and "
    "{absent with two masters}.",
)

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
    ways=("byteman",),
    extra_measures=("attempts", "ok_after_ms"),
)
