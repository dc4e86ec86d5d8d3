"""Users: CONSUME_FROM_LAST_OFFSET reads everything that is there (apache/rocketmq 334, 617, 1135, 4909, 9083).

A client takes the end of a queue only where the broker says that the group has no offset. For a group that it does not know a
broker answers 0 while the queue has its first message and that is in memory: by 4.x if it lies within accessMessageInMemoryMaxRatio
of the host's memory before the log's end, by 5.x if its page is.
"""

from __future__ import annotations

from harness.model.cluster import Topology
from harness.model.faults import NoFault
from harness.model.loads import LateGroup
from harness.model.rules import Harm, Part, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import Side, claim, confirmed, control, fact, of, refuted, side

RATIO = "accessMessageInMemoryMaxRatio"
DEFAULTS, NO_RATIO = {RATIO: "40"}, {RATIO: "0"}
COMMITTED, UNLIMITED = "fix-committed-offsets", "better-ratio-0"

STORE = "org.apache.rocketmq.store"
CLIENT = "org.apache.rocketmq.client.impl.consumer.RebalancePushImpl"
QUERY = "org.apache.rocketmq.broker.processor.ConsumerManageProcessor.queryConsumerOffset"
BY_RATIO = f"{QUERY}, {STORE}.DefaultMessageStore.checkInDiskByConsumeOffset"
BY_PAGE = f"{QUERY}, {STORE}.DefaultMessageStore.checkInMemByConsumeOffset"

ALL = side(1, 0, "all 200 messages that were there, or none of them")
NONE = side(0, 1, "none of the 200 messages that were there, or all of them")


def _history(arm: str, at: Side) -> Part:
    return fact(of("history_read_share", arm), at, deployments_min=5)


def _later(arm: str) -> Part:
    return control(fact(of("later_read_share", arm), side(1, 0, "all 40 that came after the group, or none")))


X_01 = claim(
    "X-last-offset-reads-history-01", "", "A new group with CONSUME_FROM_LAST_OFFSET consumes all messages of the history.",
    reading="A group whose first consumer starts with CONSUME_FROM_LAST_OFFSET consumes every one of 200 messages that the topic "
    "had before, and of those that came after.",
    expected=confirmed("the answer is 0 where the queue begins at 0 and that is less than 40 % of memory behind the log's end",
                       BY_RATIO, RELEASES_4X)
    | confirmed("the answer is 0 where the queue begins at 0 and the page of its first message is in memory", BY_PAGE, RELEASES_5X),
    parts={
        "history": _history("incident", ALL),
        "later": _later("incident"),
        "it is there": control(_history("baseline", ALL)),
    },
    summary="A new group with CONSUME_FROM_LAST_OFFSET consumed the whole history {history}.",
)  # fmt: skip

X_02 = claim(
    "X-last-offset-reads-history-02", "", "Setting the group's offsets before it first starts lets it begin at the end.",
    reading="A group that was given the queues' ends as its offsets consumes none of the 200 messages, and all that come after.",
    expected=confirmed("an offset that is there is the answer, before any other question is asked", QUERY),
    parts={
        "no history": _history(COMMITTED, NONE),
        "later": _later(COMMITTED),
        "without offsets": control(_history("incident", ALL)),
    },
    summary="A group whose offsets were set before it started consumed the history {!no history}.",
)  # fmt: skip

X_03 = claim(
    "X-last-offset-reads-history-03", "", "It does not happen where the history is larger than what counts as being in memory.",
    reading="With accessMessageInMemoryMaxRatio at 0, so that nothing counts as being in memory, none of the 200 is consumed.",
    expected=confirmed("every message lies farther from the end than 0 % of memory: the answer is that there is no offset",
                       BY_RATIO, RELEASES_4X)
    | refuted("it is asked whether the page is in memory, which the ratio has no part in", BY_PAGE, RELEASES_5X),
    parts={"no history": _history(UNLIMITED, NONE), "later": _later(UNLIMITED)},
    summary="With accessMessageInMemoryMaxRatio at 0 a new group consumed the history {!no history}.",
    told=Told(
        weight=Weight.OTHER, harm=Harm.FAILS,
        holds="a new group with CONSUME_FROM_LAST_OFFSET skips a history that is not in memory",
        fails="a new group with CONSUME_FROM_LAST_OFFSET reads the whole history, whatever is in memory",
        do="set a new group's offset before it starts (mqadmin resetOffsetByTime)",
    ),
)  # fmt: skip

X_04 = claim(
    "X-last-offset-reads-history-04", "", "A new group with CONSUME_FROM_FIRST_OFFSET reads the topic from its first message.",
    reading="It consumes every one of the 200 messages that were there, and all that come after: who wants the history gets it on "
    "every release.",
    expected=confirmed("a client that is told of no offset takes 0, which is what a broker answers for a group that is not known",
                       f"{CLIENT}.computePullFromWhere, {QUERY}", ("4.6.0",))
    | confirmed("a client that is told of no offset takes 0, which is what a broker answers for a group that is not known",
                f"{CLIENT}.computePullFromWhereWithException, {QUERY}", ("4.9.7", *RELEASES_5X)),
    parts={"history": _history("baseline", ALL), "later": _later("baseline")},
    summary="A new group with CONSUME_FROM_FIRST_OFFSET consumed the whole history {history}.",
)  # fmt: skip

SCENARIO = Scenario(
    name="last-offset-reads-history",
    title="A new group is to begin at the end, and reads everything",
    summary="A consumer group starts for the first time on a topic with 200 messages, and gets 40 more.",
    symptom="A new consumer group with CONSUME_FROM_LAST_OFFSET consumes every message that the topic has.",
    threads=("issues/334", "issues/617", "issues/1135", "issues/4909", "issues/9083"),
    faces={"": "X-last-offset-reads-history-01"},
    advice="Set the group's offsets to the ends of the queues before it first starts.",
    cures=("X-last-offset-reads-history-02", "X-last-offset-reads-history-03"),
    no_sign="Where a group began is in no log: compare its first offsets with those of the queues (mqadmin "
    "consumerProgress) as it starts.",
    topology=Topology(name="single"),
    arms=(
        Arm(
            name="baseline", what="The group begins at the first message (CONSUME_FROM_FIRST_OFFSET).", fault=NoFault(),
            load=LateGroup(begins="first"), live_conf=DEFAULTS,
        ),
        Arm(name="incident", what="The group begins with CONSUME_FROM_LAST_OFFSET, the default.", fault=NoFault(), load=LateGroup(),
            live_conf=DEFAULTS),
        Arm(
            name=COMMITTED, what="The same, and the group's offsets are set to the ends of the queues before it starts.",
            fault=NoFault(), load=LateGroup(committed=True), live_conf=DEFAULTS,
        ),
        Arm(
            name=UNLIMITED, what="Ours: the same with accessMessageInMemoryMaxRatio at 0, as if the history exceeded memory.",
            fault=NoFault(), load=LateGroup(), live_conf=NO_RATIO,
        ),
    ),
    phases=Phases(steady_s=0.5, hold_s_min=2.0, hold_s_max=2.0, recover_s=0.1),
    claims=(X_01, X_02, X_03, X_04),
    budget=TrialBudget(trials=5, deployments=5),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=True,
    shares_machine=True,
    hiccup_ms_max=5000.0,
)  # fmt: skip
"""Where a group begins is one answer of the broker's; a hiccup changes nothing of it."""
