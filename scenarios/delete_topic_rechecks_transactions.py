"""Users: a topic is deleted, and the broker asks about transactions that had ended (apache/rocketmq 2133).

What has ended a transaction stands in a topic of the broker's own. A check goes through the half messages from where the one
before came to, and asks about each that is older than 6 s and that nothing there has ended. Where it had come to in that topic
is an offset, which outlives a deletion: as many of what ends after it are passed over, and asked about too.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import DeleteTopic, Fault, NoFault
from harness.model.incident import Sign
from harness.model.loads import Transactions
from harness.model.log_events import Logged, LogPattern
from harness.model.rocketmq import CHECKS
from harness.model.rules import Harm, Part, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_5X
from scenarios.rules import Side, claim, confirmed, control, fact, of, refuted, side

OFTEN, UNDECIDED, KEPT = "fix-short-interval", "fix-undecided", "better-op-topic"
HAVE_IT = ("4.6.0",)
RATE_HZ, AGE_S = 8, 4
SECOND, TEN_S = {CHECKS: "1000"}, {CHECKS: "10000"}

STORE = "org.apache.rocketmq.store.DefaultMessageStore"
ADMIN = "org.apache.rocketmq.broker.processor.AdminBrokerProcessor"
QUEUE = "org.apache.rocketmq.broker.transaction.queue.TransactionalMessageServiceImpl"
SERVICE = "org.apache.rocketmq.broker.transaction.TransactionalMessageCheckService"
TOPICS = "org.apache.rocketmq.broker.topic.TopicConfigManager"

ASKED = side(AGE_S * RATE_HZ, 0, "at the least what was ended in the 4 s between a check and the deletion, or none")
TWICE = side(AGE_S * RATE_HZ / 2, 0, "at the least the half of it that was committed, or none")
NONE = side(0, AGE_S * RATE_HZ, "none, or what was ended in the 4 s between a check and the deletion")
NONE_TWICE = side(0, AGE_S * RATE_HZ / 2, "none, or what was committed in the 4 s between a check and the deletion")
A_SECOND = side(RATE_HZ, AGE_S * RATE_HZ, "what was ended in one second, or in four")
SOON = side(21, 906, "15 checks from an age of 6 s on, a second apart or a minute")


def _asked(arm: str, at: Side, by: str = "after") -> Part:
    return fact(of("asked_again_count", arm, by=by), at)


def _twice(arm: str, at: Side) -> Part:
    return fact(of("committed_twice_count", arm), at)


KEPT_SINCE = refuted(
    "the queues of RMQ_SYS_TRANS_OP_HALF_TOPIC stay", f"{STORE}.cleanUnusedTopic", ("4.9.7",)
) | refuted(
    "a deletion deletes the queues of the topic that it names",
    f"{ADMIN}.deleteTopicInBroker, {STORE}.deleteTopics",
    RELEASES_5X,
)
SWEPT = "a deletion deletes the queues of all topics that are in no table of topics, and this one is in none"

X_01 = claim(
    "X-delete-topic-rechecks-transactions-01", "", "After a topic is deleted a lot of transaction checks occur: "
    "RMQ_SYS_TRANS_OP_HALF_TOPIC is deleted with it.",
    reading="Four seconds after a check a topic that nobody uses is deleted. The next one asks about transactions that had ended.",
    expected=confirmed(SWEPT, f"{STORE}.cleanUnusedTopic, {QUEUE}.check", HAVE_IT) | KEPT_SINCE,
    parts={
        "asked": _asked("incident", ASKED),
        "before it": control(_asked("incident", NONE, "before")),
        "without it": control(_asked("baseline", NONE)),
    },
    summary="After an unused topic was deleted, the broker asked about ended transactions {asked}.",
    told=Told(
        weight=Weight.DELAY, harm=Harm.HOLDS,
        holds="after a topic is deleted the broker asks about ended transactions again",
        fails="deleting a topic brings no transaction checks",
    ),
)  # fmt: skip

X_02 = claim(
    "X-delete-topic-rechecks-transactions-02", "", "What is committed again is delivered again.",
    reading="The same. The producer answers as before, and committed messages lie in their topic twice.",
    expected=confirmed("a commit stores the message, also where one did before",
                       f"{STORE}.cleanUnusedTopic, {QUEUE}.commitMessage", HAVE_IT)
    | KEPT_SINCE,
    parts={"twice": _twice("incident", TWICE), "without it": control(_twice("baseline", NONE_TWICE))},
    summary="After an unused topic was deleted, committed messages came twice {twice}.",
    told=Told(
        weight=Weight.OTHER, harm=Harm.HOLDS,
        holds="after a topic is deleted committed transactional messages come twice",
        fails="deleting a topic brings no transactional message twice",
    ),
)  # fmt: skip

X_03 = claim(
    "X-delete-topic-rechecks-transactions-03", "", "With a shorter transactionCheckInterval fewer are asked about.",
    reading="transactionCheckInterval=1000: no more are asked about than end in a second. The price: a transaction that is "
    "undecided is asked about 15 times in as many seconds, and given up.",
    expected=confirmed("a check goes on from where the one before it came to, and asks 15 times at most",
                       f"{SERVICE}.run, {QUEUE}.check, {QUEUE}.needDiscard", HAVE_IT), cure_of=X_01.id,
    parts={
        "asked": _asked(OFTEN, A_SECOND),
        "price": fact(of("given_up_s", UNDECIDED), SOON),
        "by default": control(_asked("incident", ASKED)),
    },
    summary="With a check each second, more than a second's transactions were asked about {!asked}; undecided ones were given up "
    "after some 20 s {price}.",
)  # fmt: skip

X_04 = claim(
    "X-delete-topic-rechecks-transactions-04", "", "Once RMQ_SYS_TRANS_OP_HALF_TOPIC is made as other topics are, it stays.",
    cure_of=X_01.id,
    reading="Before the deletion the topic is made, as mqadmin updateTopic does. No transaction that had ended is asked about, and "
    "none comes twice. The price: brokers and name servers list one topic more.",
    expected=confirmed("a topic that is made is in the table of topics, and those in it keep their queues",
                       f"{TOPICS}.updateTopicConfig, {STORE}.cleanUnusedTopic", HAVE_IT),
    parts={
        "none asked": _asked(KEPT, NONE),
        "none twice": _twice(KEPT, NONE_TWICE),
        "by default": control(_asked("incident", ASKED)),
    },
    summary="With that topic made, checks every 10 s asked about ended transactions {!none asked}, and messages came "
    "twice {!none twice}.",
    told=Told(
        weight=Weight.OTHER,
        do="make the topic RMQ_SYS_TRANS_OP_HALF_TOPIC on each broker (mqadmin updateTopic)",
    ),
)  # fmt: skip

X_05 = claim(
    "X-delete-topic-rechecks-transactions-05", "", "A broker asks about no transaction that has ended.",
    reading="Without a deletion, until a check has passed over them: none is asked about, and no message comes twice.",
    expected=confirmed("a half message that something has ended is passed over", f"{QUEUE}.check"),
    parts={"none asked": _asked("baseline", NONE), "none twice": _twice("baseline", NONE_TWICE)},
    summary="Without a deletion, checks every 10 s asked about ended transactions {!none asked}.",
)  # fmt: skip


def _until_a_check(hold_s_max: float) -> Phases:
    return Phases(steady_s=1.0, hold_s_min=8.0, hold_s_max=hold_s_max, recover_s=3.0)


DELETED = DeleteTopic(after_check_s=AGE_S)


def _arm(name: str, what: str, fault: Fault, conf: Mapping[str, str], releases: tuple[str, ...] = ()) -> Arm:
    load, phases = Transactions(rate_hz=RATE_HZ), _until_a_check(30.0 if conf else 100.0)
    return Arm(
        name=name, what=what, fault=fault, load=load, broker=BrokerSettings(conf=conf), phases=phases, releases=releases
    )


SCENARIO = Scenario(
    name="delete-topic-rechecks-transactions",
    title="A topic is deleted, and transactions that had ended are asked about",
    summary="Eight transactions a second are committed or rolled back. Four seconds after a check of transactions a topic that "
    "nobody uses is deleted; the next check follows.",
    symptom="After a topic is deleted the broker asks producers about transactions that ended before, and delivers "
    "messages twice.",
    threads=("issues/2133", "pull/2134"),
    faces={
        "asked about again": "X-delete-topic-rechecks-transactions-01",
        "delivered twice": "X-delete-topic-rechecks-transactions-02",
    },
    advice="Make the topic RMQ_SYS_TRANS_OP_HALF_TOPIC on each broker (mqadmin updateTopic), and it stays; a shorter "
    "transactionCheckInterval leaves fewer to ask about.",
    cures=("X-delete-topic-rechecks-transactions-03", "X-delete-topic-rechecks-transactions-04"),
    audited=("deletion-rechecks-transactions",),
    sign=Sign(
        pattern=LogPattern.OP_QUEUE_DELETED,
        events=(Logged.OP_QUEUE_DELETED,),
        because="with a topic that was deleted went the queue that says which transactions have ended: 4.6.0 asks about "
        "those again, and delivers committed messages twice",
    ),
    topology=Topology(name="single"),
    arms=(
        _arm("baseline", "No topic is deleted, with a check every 10 s.", NoFault(), TEN_S),
        _arm("incident", "An unused topic is deleted.", DELETED, {}),
        _arm(OFTEN, "The same with transactionCheckInterval=1000.", DELETED, SECOND, HAVE_IT),
        Arm(
            name=UNDECIDED,
            what="That setting without a deletion, and three transactions that stay undecided.",
            fault=NoFault(),
            load=Transactions(rate_hz=RATE_HZ, states=3, transactions=9),
            broker=BrokerSettings(conf=SECOND),
            phases=Phases(steady_s=2.0, hold_s_min=28.0, hold_s_max=28.0, recover_s=0.5),
            releases=HAVE_IT,
        ),
        _arm(KEPT, "An unused topic is deleted; RMQ_SYS_TRANS_OP_HALF_TOPIC was made before. A check every 10 s.",
             DeleteTopic(after_check_s=AGE_S, cure="op-topic"), TEN_S, HAVE_IT),
    ),
    phases=_until_a_check(100.0),
    claims=(X_01, X_02, X_03, X_04, X_05),
    budget=TrialBudget(trials=2, deployments=2),
    quick_budget=TrialBudget(trials=1, deployments=1),
    cluster_per_trial=True,
    shares_machine=True,
    hiccup_ms_max=1500.0,
)  # fmt: skip
"""Which queues a deletion deletes is decided by code, the same in each deployment: two of them. No broker asks about a transaction
that is younger than 6 s: a check 8 s after the deletion has asked about all that had ended before it."""
