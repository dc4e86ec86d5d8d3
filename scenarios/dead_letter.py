"""What becomes of a message that fails, and where the topics for it come from.

A failing message is given back, waits in a delay queue, and comes again through its group's retry topic; in the end it is
a dead letter. Delays are scaled by the broker's own messageDelayLevel; one arm has the default levels for as long as four
minutes allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from harness.model.cells import ParameterValue
from harness.model.claims import Claim, Part, Quantity, Statistic
from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import NoFault, TopicMoments
from harness.model.loads import FailingMessages
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from harness.model.verdicts import VerdictKind
from scenarios.expectations import RELEASES_4X, expect

SCALED_LEVELS = "1s 2s 1s 2s 3s 4s 5s 6s 7s 8s 1s 2s 3s 4s 5s 6s 7s 8s"
"""Levels 3 to 18, which retries use, are 1 to 8 s twice: neighbours differ, and all sixteen take 72 s."""
SCALED = BrokerSettings(conf={"messageDelayLevel": SCALED_LEVELS})
RETRIES = 16
LATE_S = 3.0
"""A delay queue is looked at every 100 ms, a consumer pulls at once; the rest is for a busy machine."""

HEARTBEATS = "org.apache.rocketmq.broker.processor.ClientManageProcessor.heartBeat"
CHECK = "org.apache.rocketmq.broker.processor.AbstractSendMessageProcessor.msgCheck"
BACK_4X = "org.apache.rocketmq.broker.processor.SendMessageProcessor"
BACK_5X = "org.apache.rocketmq.broker.processor.AbstractSendMessageProcessor"
ADMIN = "org.apache.rocketmq.broker.processor.AdminBrokerProcessor.deleteTopic"


def _yes_or_no(
    name: str,
    measure: str,
    arm: str,
    relation: Literal["<=", ">="],
    why: str,
    where: Mapping[str, tuple[ParameterValue, ...]] | None = None,
) -> Part:
    """A question that the broker answers with 0 or 1."""
    return Part(
        name=name,
        quantity=Quantity(measure=measure, arm=arm, statistic=Statistic.MEDIAN, where=where or {}),
        relation=relation,
        bound=0.5,
        unit="of cases",
        why=why + " The broker's table says yes or no; half is between the two, and one case shows it.",
        units_min=1,
    )


def _share(
    name: str, measure: str, arm: str, within: tuple[float | None, float | None], bound: float, unit: str, why: str
) -> Part:
    return Part(
        name=name,
        quantity=Quantity(measure=measure, arm=arm, statistic=Statistic.SHARE, within=within),
        relation=">=",
        bound=bound,
        unit=unit,
        why=why,
    )


TOPICS_04 = Claim(
    id="TOPICS-04",
    article="A4",
    says="A retry topic is created by a consumer group's heartbeat, even when no message ever fails.",
    reading="A group that nobody knew has a retry topic right after one heartbeat; so has a group whose messages all succeed.",
    parts=(
        _yes_or_no(
            "after one heartbeat",
            "retry_topic_created",
            "incident-moments",
            ">=",
            "Nothing but the heartbeat was sent for that group.",
            {"moment": ("heartbeat",)},
        ),
        _yes_or_no(
            "before the group started",
            "topic_exists",
            "baseline",
            "<=",
            "The control: it was not there before.",
            {"topic": ("retry",), "when": ("before the group",)},
        ),
        _yes_or_no(
            "of a group that never failed",
            "topic_exists",
            "baseline",
            ">=",
            "A whole trial without a failed message.",
            {"topic": ("retry",), "when": ("at the end",)},
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "a heartbeat calls createTopicInSendMessageBackMethod for the retry topic of each of its groups",
        HEARTBEATS,
    ),
    summary="One heartbeat made the retry topic in {after one heartbeat} of the cases, a group without a failure had one, too.",
)

TOPICS_05 = Claim(
    id="TOPICS-05",
    article="A4",
    says="A retry topic is also created when a failed message is sent back.",
    reading="A group that never sent a heartbeat has a retry topic right after it gave one message back.",
    parts=(
        _yes_or_no(
            "after a message was given back",
            "retry_topic_created",
            "incident-moments",
            ">=",
            "Nothing but that request was sent for that group.",
            {"moment": ("send-back",)},
        ),
    ),
    expected={
        **expect(
            VerdictKind.CONFIRMED,
            "a message that is given back calls createTopicInSendMessageBackMethod",
            f"{BACK_4X}.consumerSendMsgBack",
            RELEASES_4X,
        ),
        **expect(
            VerdictKind.CONFIRMED,
            "a message that is given back calls createTopicInSendMessageBackMethod",
            f"{BACK_5X}.consumerSendMsgBack",
            ("5.3.3",),
        ),
    },
    summary="Giving a message back made the retry topic in {after a message was given back} of the cases.",
)

TOPICS_06 = Claim(
    id="TOPICS-06",
    article="A4",
    says="Deleting the retry topics of groups that are offline is safe: the topic returns when the group does, and consumption "
    "is not affected.",
    reading="The topic is there again after the group's next heartbeat; a message that was due for a retry, and one that was not "
    "due yet, are found by the group that came back; and the next message that fails is where the group looks for it.",
    parts=(
        _yes_or_no("topic returns", "retry_topic_returns", "incident-moments", ">=", "It was gone in between."),
        _yes_or_no(
            "retry that was due is kept",
            "pending_retry_kept",
            "incident-moments",
            ">=",
            "A retry that waited for its group is a message that was accepted.",
            {"state": ("due",)},
        ),
        _yes_or_no(
            "retry that was not due is kept",
            "pending_retry_kept",
            "incident-moments",
            ">=",
            "It lies in a delay queue while its topic is deleted.",
            {"state": ("not due",)},
        ),
        _yes_or_no(
            "next retry is reached",
            "next_retry_reached",
            "incident-moments",
            ">=",
            "A queue that starts anew at 0 must not meet an offset that the group had before.",
        ),
    ),
    expected=expect(
        VerdictKind.REFUTED,
        "the queues of a deleted topic are destroyed with what they hold, so that retries that were due are gone",
        ADMIN,
    ),
    summary="The topic returned ({topic returns}); a retry that was due was kept in {retry that was due is kept}, one that was "
    "not due in {retry that was not due is kept}, and the next retry was reached in {next retry is reached} of the cases.",
)

TOPICS_08 = Claim(
    id="TOPICS-08",
    article="A4",
    says="Messages whose consumption fails or times out are retried after the delay queue's delays, 16 times by default, then "
    "go to the dead-letter topic.",
    reading="A message that fails always is consumed 17 times, each retry k after the delay of level k + 2, and is then in the "
    "dead-letter topic. (Failing, not timing out: the consumer's timeout is 15 minutes.)",
    parts=(
        _share(
            "consumed 17 times",
            "consumption_count",
            "incident",
            (RETRIES + 1, RETRIES + 1),
            0.5,
            "of messages",
            "The first consumption and 16 retries, not one more or less; twelve messages fail, of which a noisy machine may "
            "disturb two.",
        ),
        _share(
            "all delays as set",
            "retry_late_s",
            "incident",
            (-0.2, LATE_S),
            0.5,
            "of messages",
            "No retry may come before its level's delay (0.2 s for the clock's grain), and none much later.",
        ),
        _share(
            "default delays as set",
            "retry_late_s",
            "incident-unscaled",
            (-0.2, LATE_S),
            0.5,
            "of messages",
            "The same with 10 s, 30 s, 1 m and 2 m, unscaled.",
        ),
        Part(
            name="dead letters",
            quantity=Quantity(measure="dead_letter_share", arm="incident", statistic=Statistic.MEDIAN),
            relation=">=",
            bound=0.99,
            unit="of messages that fail",
            why="All of them must be there; one trial counts twelve.",
            units_min=1,
        ),
    ),
    expected={
        **expect(
            VerdictKind.CONFIRMED,
            "delayLevel is 3 + reconsumeTimes; at 16 (retryMaxTimes) the message goes to the dead-letter topic",
            f"{BACK_4X}.consumerSendMsgBack",
            RELEASES_4X,
        ),
        **expect(
            VerdictKind.CONFIRMED,
            "delayLevel is 3 + reconsumeTimes; at 16 (retryMaxTimes) the message goes to the dead-letter topic",
            f"{BACK_5X}.consumerSendMsgBack",
            ("5.3.3",),
        ),
    },
    summary="{consumed 17 times} of the messages were consumed 17 times, {all delays as set} of them with every delay as set, and "
    "{dead letters} became dead letters.",
)

TOPICS_09 = Claim(
    id="TOPICS-09",
    article="A4",
    says="The dead-letter topic is created only when it is used.",
    reading="It is not there while messages are still retried, nor for a group that never fails, and is there after the first "
    "dead letter.",
    parts=(
        _yes_or_no(
            "while messages are retried",
            "topic_exists",
            "incident",
            "<=",
            "The group is there and messages have failed.",
            {"topic": ("dead letter",), "when": ("after a failure",)},
        ),
        _yes_or_no(
            "of a group that never failed",
            "topic_exists",
            "baseline",
            "<=",
            "The control.",
            {"topic": ("dead letter",), "when": ("at the end",)},
        ),
        _yes_or_no(
            "after the first dead letter",
            "topic_exists",
            "incident",
            ">=",
            "Then it is used.",
            {"topic": ("dead letter",), "when": ("at the end",)},
        ),
    ),
    expected={
        **expect(
            VerdictKind.CONFIRMED,
            "only the branch for dead letters creates it",
            f"{BACK_4X}.consumerSendMsgBack",
            RELEASES_4X,
        ),
        **expect(
            VerdictKind.CONFIRMED,
            "only the branch for dead letters creates it",
            f"{BACK_5X}.consumerSendMsgBack",
            ("5.3.3",),
        ),
    },
    summary="While messages were retried {while messages are retried} of the groups had a dead-letter topic, after the first dead "
    "letter {after the first dead letter}.",
)

TOPICS_10 = Claim(
    id="TOPICS-10",
    article="A4",
    says="Every existing consumer group gets a retry topic of its own; temporary test groups caused the flood.",
    reading="Each of 20 groups that sent one heartbeat and went has a retry topic that stays.",
    parts=(
        Part(
            name="temporary groups whose retry topic stays",
            quantity=Quantity(
                measure="retry_topic_stays", arm="incident-moments", statistic=Statistic.SHARE, within=(1.0, 1.0)
            ),
            relation=">=",
            bound=0.8,
            unit="of groups",
            why="Every group means all 20, whose lower bound is 0.83.",
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "a heartbeat creates the topic, and nothing deletes it when the group's last connection closes",
        f"{HEARTBEATS}, org.apache.rocketmq.broker.client.ConsumerManager.doChannelCloseEvent",
    ),
    summary="{temporary groups whose retry topic stays} of the temporary groups left a retry topic behind.",
)

TOPICS_11 = Claim(
    id="TOPICS-11",
    article="A4",
    says="Heartbeats and messages that are given back are the only two moments of creation, both on the server.",
    reading="No other request of a client makes a retry topic: not a send to it, a pull, a committed offset, or a query.",
    parts=(
        _yes_or_no(
            "after a send to the retry topic",
            "retry_topic_created",
            "incident-moments",
            "<=",
            "A consumer whose give-back fails sends the message to its retry topic itself.",
            {"moment": ("send to the retry topic",)},
        ),
        _yes_or_no(
            "after a pull, an offset or a query",
            "retry_topic_created",
            "incident-moments",
            "<=",
            "What else a consumer sends.",
            {"moment": ("pull", "offset", "query")},
        ),
    ),
    expected=expect(
        VerdictKind.REFUTED,
        "a send to a retry topic that does not exist creates it, automatic creation of topics being off or on",
        CHECK,
    ),
    summary="A send to a retry topic that did not exist made it in {after a send to the retry topic} of the cases, other "
    "requests in {after a pull, an offset or a query}.",
)

TOPICS_12 = Claim(
    id="TOPICS-12",
    article="A4",
    says="Retrying through a topic of its own keeps failing messages from blocking the others.",
    reading="While every fifth message fails again and again, the others are consumed within 3 s of being sent.",
    parts=(
        _share(
            "others in time",
            "other_delay_s",
            "incident",
            (None, LATE_S),
            0.8,
            "of other messages",
            "48 messages do not fail; four fifths as a lower bound leaves room for a start on a busy machine.",
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "a failed message is given back and removed from its process queue, whose offset moves on",
        "org.apache.rocketmq.client.impl.consumer.ConsumeMessageConcurrentlyService.processConsumeResult",
    ),
    summary="{others in time} of the messages that did not fail were consumed within 3 s.",
)

TOPICS_16 = Claim(
    id="TOPICS-16",
    article="A4",
    says="The client library's own calls suffice to find groups that are offline and delete their retry topics.",
    reading="A program of the Java library's admin calls deletes every retry topic of an offline group and keeps that of one "
    "that is online.",
    parts=(
        Part(
            name="offline ones deleted",
            quantity=Quantity(measure="offline_deleted_share", arm="incident-moments", statistic=Statistic.MEDIAN),
            relation=">=",
            bound=0.99,
            unit="of topics",
            why="Suffice means that none is left, of some thirty; one trial shows it.",
            units_min=1,
        ),
        _yes_or_no("online one kept", "online_kept", "incident-moments", ">=", "One group stays connected meanwhile."),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "fetchAllTopicList, examineConsumerConnectionInfo, deleteTopicInBroker and deleteTopicInNameServer do it",
        "org.apache.rocketmq.tools.admin.DefaultMQAdminExt",
    ),
    summary="{offline ones deleted} of the retry topics of offline groups were deleted, the online group's was kept.",
)

SCENARIO = Scenario(
    name="dead-letter",
    title="A failing message is retried sixteen times and becomes a dead letter",
    article="A4",
    summary="One broker, a group whose every fifth message fails at each consumption, and groups that are only tried out.",
    topology=Topology(name="single"),
    arms=(
        Arm(
            name="baseline",
            what="no message fails",
            fault=NoFault(),
            load=FailingMessages(fail_every=0),
            broker=SCALED,
        ),
        Arm(
            name="incident",
            what="every fifth message fails; a concurrent consumer; scaled delays",
            fault=NoFault(),
            load=FailingMessages(),
            broker=SCALED,
        ),
        Arm(
            name="incident-unscaled",
            what="the same with the default delays, for as long as four minutes allow",
            fault=NoFault(),
            load=FailingMessages(until="time"),
        ),
        Arm(
            name="incident-ordered",
            what="the same with an ordered consumer, which retries by itself and without an end",
            fault=NoFault(),
            load=FailingMessages(ordered=True, until="time"),
        ),
        Arm(
            name="incident-moments",
            what="requests that may make a retry topic, and the deletion of one in each of its states",
            fault=TopicMoments(),
            is_apart=True,
            load=FailingMessages(fail_every=0),
        ),
        Arm(
            name="fix-bounded-attempts",
            what="the ordered consumer with maxReconsumeTimes 16",
            fault=NoFault(),
            load=FailingMessages(ordered=True, attempts_max=RETRIES),
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
    budget=TrialBudget(trials=1, deployments=1),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=False,
    hiccup_ms_max=60_000.0,
    schedule="side by side",
)
