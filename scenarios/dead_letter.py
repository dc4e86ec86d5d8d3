"""What becomes of a message that fails, and where the topics for it come from.

A failing message is given back, waits in a delay queue, and comes again through its group's retry topic; in the end it is
a dead letter. Delays are scaled by the broker's own messageDelayLevel; one arm has the default levels for as long as four
minutes allow.
"""

from __future__ import annotations

from typing import Any

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import NoFault, TopicMoments
from harness.model.incident import Sign
from harness.model.loads import FailingMessages
from harness.model.log_events import Logged, LogPattern
from harness.model.rules import Expectation, Harm, Selection, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_5X
from scenarios.rules import claim, confirmed, control, fact, law, of, ratio, refuted, side

SCALED_LEVELS = "1s 2s 1s 2s 3s 4s 5s 6s 7s 8s 1s 2s 3s 4s 5s 6s 7s 8s"
"""Levels 3 to 18, which retries use, are 1 to 8 s twice: neighbours differ, and all sixteen take 72 s."""
SCALED = BrokerSettings(conf={"messageDelayLevel": SCALED_LEVELS})
RETRIES = 16
FAILS = "what fails"
TIMED_OUT, HANGS_S = "incident-timed-out", 130.0
"""Longer than the two minutes after which a consumer sees at the latest that a consumption has taken one."""

IS_THERE = side(1, 0, "the broker's own table of topics says yes or no")
IS_NOT = side(0, 1, "the broker's own table of topics says yes or no")
KEPT = side(1, 0, "the group pulls from its retry topic and finds the message, or a queue that ends before it")
LATE = (
    "a timer of a second at most; a wrong level of 1 to 8 s, or an unread setting, is 9 s off at the first retry, and one "
    "level off the default ones 20 s"
)
DELETE = "org.apache.rocketmq.broker.processor.AdminBrokerProcessor.deleteTopic"
GIVE_BACK = {
    ("4.6.0",): "SendMessageProcessor.consumerSendMsgBack",
    ("4.9.7",): "SendMessageProcessor.asyncConsumerSendMsgBack",
    RELEASES_5X: "AbstractSendMessageProcessor.consumerSendMsgBack",
}
ADMIN = "org.apache.rocketmq.tools.admin.DefaultMQAdminExt"
ADMIN_CALLS = ("fetchAllTopicList", "examineConsumerConnectionInfo", "deleteTopicInBroker", "deleteTopicInNameServer")


def _given_back(because: str) -> dict[str, Expectation]:
    """Expected of what a broker does with a message that is given back: the same, in a method that moved."""
    return {
        release: expectation
        for releases, method in GIVE_BACK.items()
        for release, expectation in confirmed(
            because, f"org.apache.rocketmq.broker.processor.{method}", releases
        ).items()
    }


def _made_by(*moments: str) -> Selection:
    return of("retry_topic_created", "incident-moments", moment=moments)


def _topic(arm: str, topic: str, when: str) -> Selection:
    return of("topic_exists", arm, topic=topic, when=when)


TOPICS_04 = claim(
    "TOPICS-04", "A4", "A retry topic is created by a consumer group's heartbeat, even when no message ever fails.",
    reading="A group that nobody knew has a retry topic right after one heartbeat; so has a group whose messages all succeed.",
    expected=confirmed("a heartbeat calls createTopicInSendMessageBackMethod for the retry topic of each of its groups",
                       "org.apache.rocketmq.broker.processor.ClientManageProcessor.heartBeat"),
    parts={
        "after one heartbeat": fact(_made_by("heartbeat"), IS_THERE),
        "of a group that never failed": fact(_topic("baseline", "retry", "at the end"), IS_THERE),
        "before the group started": control(fact(_topic("baseline", "retry", "before the group"), IS_NOT)),
    },
    summary="One heartbeat made the topic {after one heartbeat}; a group without a failure had one "
    "{of a group that never failed}.",
)  # fmt: skip

TOPICS_05 = claim(
    "TOPICS-05", "A4", "A retry topic is also created when a failed message is sent back.",
    reading="A group that never sent a heartbeat has a retry topic right after it gave one message back.",
    expected=_given_back("a message that is given back calls createTopicInSendMessageBackMethod"),
    parts={"after a message was given back": fact(_made_by("send-back"), IS_THERE)},
    summary="Giving a message back made the retry topic {after a message was given back}.",
)  # fmt: skip

# What a deletion and a request do is decided by code, the same in each deployment: facts, and no chance that tries would bound.
TOPICS_06 = claim(
    "TOPICS-06", "A4", "Deleting the retry topics of groups that are offline is safe: the topic returns when the group does, "
    "and consumption is not affected.",
    reading="The topic is there again after the group's next heartbeat; the group that came back finds a message that was due "
    "for a retry, and one that was not due yet; and the next message that fails is where it looks for it.",
    expected=refuted("the queues of a deleted topic are destroyed with what they hold, retries that were due among it", DELETE),
    parts={
        "topic": fact(of("retry_topic_returns", "incident-moments"), IS_THERE),
        "due": fact(of("pending_retry_kept", "incident-moments", state="due"), KEPT),
        "not due": fact(of("pending_retry_kept", "incident-moments", state="not due"), KEPT),
        "next": fact(of("next_retry_reached", "incident-moments"), KEPT),
    }, summary="The retry topic was back {topic}; a retry that was due was kept {due}, and one that was due later {not due}; the "
    "next retry was reached {next}.",
    told=Told(
        weight=Weight.DELAY, harm=Harm.FAILS,
        parts={"next": "a retry topic that was deleted while its group was away comes back, with the retries that follow"},
    ),
)  # fmt: skip

TOPICS_08_PARTS = {
    "count": law(of("consumption_count", "incident"), RETRIES + 1, 0.5, 1, "one retry more or less", scope=FAILS),
    "late": law(of("retry_late_s", "incident"), 0, 3, 9, LATE, scope=FAILS),
    "unscaled": fact(of("retry_late_s", "incident-unscaled"), side(0.35, 20, LATE, bound=3), scope=FAILS),
    "dead": fact(of("dead_letter_share", "incident"), side(1, 0, "the last refusal of a message makes one"), scope=FAILS),
    "timed out once": fact(of("timed_out_retry_off_s", TIMED_OUT, retry="1"), side(0.35, 10, "level 3 has 10 s; or at once",
                           bound=5), scope="a first time-out"),
    "timed out twice": fact(of("timed_out_retry_off_s", TIMED_OUT, retry="2"), side(0.35, 20, "levels 3 and 4 have 10 and 30 s",
                            bound=10), scope="a second time-out"),
    "dead in time": fact(of("dead_letter_share", TIMED_OUT), side(1, 0, "the third time makes one, or none does")),
    "again": control(fact(of("consumption_count", TIMED_OUT), side(3, 1, "two retries, or none"))),
}  # fmt: skip

TOPICS_08 = claim(
    "TOPICS-08", "A4", "Messages whose consumption fails or times out are retried after the delay queue's delays, 16 times by "
    "default, then go to the dead-letter topic.",
    reading=f"Retry k comes after the delay of level k + 2. A message that fails always is consumed {RETRIES + 1} times, one that "
    "takes longer than consumeTimeout, with maxReconsumeTimes 2, three times; then it is in the dead-letter topic.",
    expected=refuted("what has timed out is given back with delay level 3, however often it came; what fails with level 0, for "
        "which the broker takes 3 + reconsumeTimes", "org.apache.rocketmq.client.impl.consumer.ProcessQueue.cleanExpiredMsg"),
    parts=TOPICS_08_PARTS,
    summary="The number of consumptions differed from 17 by {count}; with a messageDelayLevel of 1 to 8 s retries were {late} "
    "late; the default delays were kept {unscaled}; messages became dead letters {dead}. What timed out came again after the "
    "first delay {timed out once}, the second time after the second {timed out twice}, and became a dead letter {dead in time}.",
)  # fmt: skip

TOPICS_09 = claim(
    "TOPICS-09", "A4", "The dead-letter topic is created only when it is used.",
    reading="It is not there while messages are still retried, nor for a group that never fails, and is there after the first "
    "dead letter.",
    expected=_given_back("only the branch for dead letters creates it"),
    parts={
        "while messages are retried": fact(_topic("incident", "dead letter", "after a failure"), IS_NOT),
        "of a group that never failed": fact(_topic("baseline", "dead letter", "at the end"), IS_NOT),
        "after the first dead letter": fact(_topic("incident", "dead letter", "at the end"), IS_THERE),
    },
    summary="There was a dead-letter topic while messages were retried {!while messages are retried}, and after the first dead "
    "letter {after the first dead letter}.",
)  # fmt: skip

TOPICS_10 = claim(
    "TOPICS-10", "A4", "Every existing consumer group gets a retry topic of its own; temporary test groups caused the flood.",
    reading="Each of 20 groups that sent one heartbeat and went has a retry topic that stays.",
    expected=confirmed("a heartbeat creates the topic, and nothing deletes it when the group's last connection closes",
                       "org.apache.rocketmq.broker.processor.ClientManageProcessor.heartBeat, "
                       "org.apache.rocketmq.broker.client.ConsumerManager.doChannelCloseEvent"),
    parts={"retry topics that stay": fact(of("retry_topic_stays", "incident-moments"), IS_THERE)},
    summary="Each temporary group left a retry topic behind {retry topics that stay}.",
)  # fmt: skip

TOPICS_11 = claim(
    "TOPICS-11", "A4", "Heartbeats and messages that are given back are the only two moments of creation, both on the server.",
    reading="No other request of a client makes a retry topic: not a send to it, a pull, a committed offset, or a query.",
    expected=refuted("a send to a retry topic that does not exist creates it, automatic creation of topics being off or on",
                     "org.apache.rocketmq.broker.processor.AbstractSendMessageProcessor.msgCheck"),
    parts={
        "after a send to the retry topic": fact(_made_by("send to the retry topic"), IS_NOT),
        "after a pull, an offset or a query": fact(_made_by("pull", "offset", "query"), IS_NOT),
        "after one heartbeat": control(fact(_made_by("heartbeat"), IS_THERE)),
    },
    summary="The retry topic was made by a send to it {!after a send to the retry topic}, and by a pull, an offset or a query "
    "{!after a pull, an offset or a query}.",
)  # fmt: skip

TOPICS_12 = claim(
    "TOPICS-12", "A4", "Retrying through a topic of its own keeps failing messages from blocking the others.",
    reading="Where every fifth message fails again and again, the others wait at most a tenth of what they wait where a "
    "consumer retries by itself, in order.",
    expected=confirmed("a failed message is given back and removed from its process queue, whose offset moves on",
                       "org.apache.rocketmq.client.impl.consumer.ConsumeMessageConcurrentlyService.processConsumeResult"),
    parts={
        "delay of the others": ratio(
            of("other_delay_s", "incident"), of("other_delay_s", "incident-ordered"),
            side(0.01, 1, "milliseconds, where an ordered consumer waits for 1 s before each try of its own", bound=0.1)),
    },
    summary="Messages that did not fail waited {delay of the others} times as long as behind a consumer that retries in order.",
)  # fmt: skip

TOPICS_16 = claim(
    "TOPICS-16", "A4", "The client library's own calls suffice to find groups that are offline and delete their retry topics.",
    reading="A program of the Java library's admin calls deletes every retry topic of an offline group and keeps that of one "
    "that is online.",
    expected=confirmed("these calls do it", ", ".join(f"{ADMIN}.{call}" for call in ADMIN_CALLS)),
    parts={
        "offline ones deleted": fact(of("offline_deleted_share", "incident-moments"), side(1, 0, "none may be left")),
        "online one kept": fact(of("online_kept", "incident-moments"), IS_THERE),
    },
    summary="All retry topics of offline groups were deleted {offline ones deleted}, and the online group's was kept {online "
    "one kept}.",
)  # fmt: skip


def _arm(name: str, what: str, load: FailingMessages, **more: Any) -> Arm:
    return Arm(name=name, what=what, load=load, **{"fault": NoFault(), **more})


SCENARIO = Scenario(
    name="dead-letter",
    title="A failing message is retried sixteen times and becomes a dead letter",
    article="A4",
    summary="One broker, a group whose every fifth message fails at each consumption, and groups that are only tried out.",
    symptom="A message that fails comes again and again, ever later, and then no more.",
    advice="Read the topic %DLQ% of the group, and its consumers' logs for why the messages failed.",
    sign=Sign(
        pattern=LogPattern.DEAD_LETTERS,
        events=(Logged.DEAD_LETTERS,),
        because="a group's first dead letter made its topic (%DLQ%); those after it leave no line",
    ),
    topology=Topology(name="single"),
    arms=(
        _arm("baseline", "no message fails", FailingMessages(fail_every=0), broker=SCALED, trials=2),
        _arm("incident", "every fifth message fails; concurrent; scaled delays", FailingMessages(), broker=SCALED),
        _arm(
            "incident-unscaled",
            "the same with the default delays, for as long as four minutes allow",
            FailingMessages(until="time"),
            trials=2,
        ),
        _arm(
            TIMED_OUT,
            "every fifth message takes longer than a consumeTimeout of a minute; default delays; maxReconsumeTimes 2",
            FailingMessages(messages=20, attempts_max=2, hangs_s=HANGS_S),
            # The third consumption is seen to time out at most six minutes after the consumer's start, and ends after that.
            phases=Phases(steady_s=3.0, hold_s_min=20.0, hold_s_max=480.0, recover_s=60.0),
            trials=2,
        ),
        _arm(
            "incident-ordered",
            "the same with an ordered consumer, which retries by itself and without an end",
            FailingMessages(ordered=True, until="time"),
            phases=Phases(steady_s=3.0, hold_s_min=20.0, hold_s_max=25.0, recover_s=1.0),
        ),
        _arm(
            "incident-moments",
            "requests that may make a retry topic, and the deletion of one in each of its states",
            FailingMessages(fail_every=0),
            fault=TopicMoments(),
            is_apart=True,
            trials=2,
        ),
        _arm(
            "fix-bounded-attempts",
            "the ordered consumer with maxReconsumeTimes 16",
            FailingMessages(ordered=True, attempts_max=RETRIES),
            broker=SCALED,
        ),
    ),
    phases=Phases(steady_s=3.0, hold_s_min=20.0, hold_s_max=230.0, recover_s=1.0),
    claims=(
        TOPICS_04,
        TOPICS_05,
        TOPICS_06,
        TOPICS_08,
        TOPICS_09,
        TOPICS_10,
        TOPICS_11,
        TOPICS_12,
        TOPICS_16,
    ),
    budget=TrialBudget(trials=5, deployments=5, extra_trials=1),
    quick_budget=TrialBudget(trials=1, deployments=1),
    quick_cells={TIMED_OUT: ()},
    exclusive=False,
    hiccup_ms_max=60_000.0,
    schedule="side by side",
)
