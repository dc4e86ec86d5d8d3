"""Users: a topic is deleted and made anew, and its old group skips what comes (apache/rocketmq 2748, 4774, 551).

A group's offsets are kept by the names of topic and group. Where they outlive the topic, the group goes on in the new one from
where it was in the old: what lies below is skipped. Where the new topic is still shorter, the broker corrects the offset.
"""

from __future__ import annotations

from harness.model.cluster import Topology
from harness.model.faults import Fault, NoFault, RecreateTopic
from harness.model.incident import Sign
from harness.model.loads import ReturningGroup
from harness.model.log_events import Logged, LogPattern
from harness.model.rules import Harm, Part, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import Side, claim, confirmed, control, fact, of, refuted, side

FEWER, ZERO = "incident-fewer", "fix-offsets"
HISTORY, LATER, FEW = 200, 400, 40
"""Messages before the topic is deleted, all of which the group consumed, and after it. On two queues, equally."""

ADMIN = "org.apache.rocketmq.broker.processor.AdminBrokerProcessor"
STORE = "org.apache.rocketmq.store.DefaultMessageStore"
OFFSETS = "org.apache.rocketmq.broker.offset.ConsumerOffsetManager"

ALL_BUT = side(
    (LATER - HISTORY) / LATER, 1, "what lies beyond the old offsets, or all messages of the new topic", bound=0.75
)
ALL = side(
    1, (LATER - HISTORY) / LATER, "all messages of the new topic, or what lies beyond the old offsets", bound=0.75
)
NONE = side(0, 1, "none of the new topic's messages, or all")

DELETED = refuted(
    "a topic's offsets are deleted with it", f"{ADMIN}.deleteTopicInBroker, {OFFSETS}.cleanOffsetByTopic", RELEASES_5X
)


def _read(arm: str, at: Side) -> Part:
    return fact(of("later_read_share", arm), at)


X_01 = claim(
    "X-recreated-topic-keeps-offsets-01", "", "After a topic is deleted and created again its consumers skip messages, since the "
    "consumer offset is not deleted.",
    reading="A group has consumed 200 messages. The topic is deleted and made, and gets 400: of these the group consumes the last "
    "200 alone.",
    expected=confirmed("a topic is deleted with its queues, and the offsets of its groups stay", f"{ADMIN}.deleteTopic", ("4.6.0",))
    | confirmed("a topic is deleted with its queues, and the offsets of its groups stay", f"{ADMIN}.deleteTopic", ("4.9.7",))
    | DELETED,
    parts={"as many skipped": _read("incident", ALL_BUT), "the topic stays": control(_read("baseline", ALL))},
    summary="Of a topic that was made anew, its old group skipped as many messages as it had once consumed {as many skipped}.",
    told=Told(
        weight=Weight.LOSS, harm=Harm.HOLDS,
        holds="a topic that is deleted and made again: its groups skip as many messages as they had consumed",
        fails="a topic that is deleted and made again: its groups skip nothing",
    ),
)  # fmt: skip

X_02 = claim(
    "X-recreated-topic-keeps-offsets-02", "", "As long as the new topic is shorter than what was consumed of the old one, nothing "
    "of it is consumed: the difference is negative.",
    reading="The same with 40 messages after the topic was made: the group consumes none of them, however long one waits.",
    expected=refuted("an offset beyond the end is set to the begin, where that is 0", f"{STORE}.getMessage", ("4.6.0",))
    | confirmed("an offset beyond the end is set to the end", f"{STORE}.getMessage", ("4.9.7",))
    | DELETED,
    parts={"none read": _read(FEWER, NONE), "the topic stays": control(_read("baseline", ALL))},
    summary="Of a new topic that had fewer messages than the group had consumed before, it consumed some {!none read}.",
    told=Told(
        weight=Weight.LOSS, harm=Harm.HOLDS,
        holds="of a topic made again that is shorter than what was consumed before, nothing is consumed",
        fails="of a topic made again everything is consumed, however short it is",
    ),
)  # fmt: skip

X_03 = claim(
    "X-recreated-topic-keeps-offsets-03", "", "Set the group's offsets in the new topic to 0 before it comes back, and it gets "
    "everything.",
    cure_of=X_01.id,
    reading="After the topic is made the offsets of the group, which is away, are set to 0: it consumes all 400 messages when it "
    "is back. The price is that it has to be away: members would commit theirs.",
    expected=confirmed("an offset of a group that is away may be set to any value, from which it goes on",
                       f"{OFFSETS}.commitOffset", RELEASES_4X),
    parts={"all read": _read(ZERO, ALL), "without it": control(_read("incident", ALL_BUT))},
    summary="With its offsets set to 0 the group consumed the whole new topic {all read}.",
    told=Told(
        weight=Weight.LOSS,
        do="set the group's offsets in the new topic to 0 before it comes back",
    ),
)  # fmt: skip

X_04 = claim(
    "X-recreated-topic-keeps-offsets-04", "", "A group that leaves and comes back gets everything that was sent meanwhile.",
    reading="The topic stays. The group consumes all of 400 messages that were sent while it was away.",
    expected=confirmed("a group goes on from the offset that it committed as it left", f"{OFFSETS}.queryOffset"),
    parts={"all read": _read("baseline", ALL)},
    summary="A group that came back to a topic that had stayed consumed everything {all read}.",
)  # fmt: skip


def _arm(name: str, what: str, fault: Fault, later: int = LATER, releases: tuple[str, ...] = ()) -> Arm:
    return Arm(name=name, what=what, fault=fault, load=ReturningGroup(history=HISTORY, later=later), releases=releases)


SCENARIO = Scenario(
    name="recreated-topic-keeps-offsets",
    title="A topic is made anew, and its old group skips messages",
    summary="A group consumes 200 messages and leaves. The topic is deleted and made, gets new messages, and the group returns.",
    symptom="A topic was deleted and made again, and its group consumes none of the first messages: its Diff is "
    "negative.",
    threads=("issues/2748", "issues/4774", "issues/551"),
    faces={
        "as many messages as it had consumed are skipped": "X-recreated-topic-keeps-offsets-01",
        "nothing comes as long as the new topic is shorter": "X-recreated-topic-keeps-offsets-02",
    },
    advice="Before the group comes back, set its offsets in the new topic to 0, or give topic or group another name.",
    cures=("X-recreated-topic-keeps-offsets-03",),
    sign=Sign(
        pattern=LogPattern.TOPIC_MADE_ANEW,
        events=(Logged.TOPIC_DELETED, Logged.TOPIC_MADE, Logged.OFFSET_PAST_END),
        because="a topic was deleted and made again; on 4.6.0 and 4.9.7 its groups go on from where they were in the one before, "
        "and skip what lies below",
    ),
    topology=Topology(name="single"),
    arms=(
        _arm("baseline", "The topic stays.", NoFault()),
        _arm("incident", "The topic is made anew, and gets 400 messages.", RecreateTopic()),
        _arm(FEWER, "The topic is made anew, and gets 40 messages.", RecreateTopic(), FEW),
        _arm(ZERO, "The same as the incident; then the group's offsets are set to 0.", RecreateTopic(cure="offsets"),
             releases=RELEASES_4X),
    ),
    phases=Phases(steady_s=0.0, hold_s_min=1.0, hold_s_max=1.0, recover_s=0.5),
    claims=(X_01, X_02, X_03, X_04),
    budget=TrialBudget(trials=2, deployments=2),
    quick_budget=TrialBudget(trials=1, deployments=1),
    shares_machine=True,
    hiccup_ms_max=5000.0,
)  # fmt: skip
"""What a topic's end does to offsets is decided by code, the same in each deployment: two of them. The drain waits until the group
has committed the new end, which 4.x corrects 10 to 30 s after the group is back."""
