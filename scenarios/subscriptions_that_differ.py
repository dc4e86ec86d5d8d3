"""Users: one group with two subscriptions, and messages vanish (apache/rocketmq 2836, 2954, 5473).

A broker keeps one subscription a group and topic: the one of the highest version, which is that of the member whose queues changed
last. It filters the pulls of every member by that one, and each member filters what it gets by its own.
"""

from __future__ import annotations

from harness.model.cluster import Topology
from harness.model.faults import NoFault
from harness.model.group_members import GroupMembers, Member
from harness.model.incident import Sign
from harness.model.log_events import Logged, LogPattern
from harness.model.rules import Part
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.rules import claim, confirmed, exists, fact, measured_share, never, of, side

INCIDENT, TWO_TOPICS, APART = "incident", "incident-two-topics", "fix-group-each"
ONE, OTHER, BOTH = Member(tags="tag0"), Member(tags="tag1"), Member(tags="tag0 || tag1")
CODE = "org.apache.rocketmq"
UPDATE = f"{CODE}.broker.client.ConsumerGroupInfo.updateSubscription"
CLIENT = f"{CODE}.client.impl.consumer"
KEPT = (
    f"{UPDATE}, {CODE}.broker.processor.PullMessageProcessor.processRequest, {CLIENT}.PullAPIWrapper.processPullResult"
)

HEARTBEAT_MS, SETTLED_S = 5_000, 8.0
"""A rebalance sends no heartbeat while another one is under way. Until the next one the member with the newest subscription is
refused (SUBSCRIPTION_NOT_LATEST), by default for up to 30 s. Where tags differ the members send one every 5 s, and when the hold
begins all have."""
QUARTER = side(
    0.75, 0.5, "of the tag that the broker filters by half, which is a quarter of all; or of each tag half", bound=0.65
)
NOTHING = side(0, 0.5, "nothing, or what lies in half of the queues", bound=0)
GONE = side(1, 0, "the group's offset is beyond them, or they lie in queues that nobody has")
WAIT = side(0, 1, "the group's offset is beyond them, or they lie in queues that nobody has")
NONE_OF_IT = (
    "half of the messages and more, where a broker filters by another member's subscription or a queue has no reader"
)


def _clean(arm: str) -> dict[str, Part]:
    return {
        "unread": never(of("unread_share", arm), 0.5, NONE_OF_IT, noun="groups"),
        "twice": never(of("doubled_share", arm), 0.5, "messages of a queue that two members have", noun="groups"),
    }


X_01 = claim(
    "X-subscriptions-that-differ-01", "", "One consumer group can't subscribe with different tags; messages are missing.",
    reading="Of two members of a group each subscribes to one of a topic's two tags: of one tag the group is given nothing, of the "
    "other what lies in half of the queues. The group's offset passes over what is missing, so that it does not come later either.",
    expected=confirmed("the broker filters all pulls of the group by the newest subscription, the other member drops what it gets "
                       "so, and both move the group's offset on", KEPT),
    parts={
        "unread": measured_share(of("unread_share", INCIDENT), QUARTER, noun="groups"),
        "of one tag": exists(of("least_tag_share", INCIDENT), NOTHING, of("least_tag_share", "baseline"), noun="groups"),
        "passed over": fact(of("passed_over_share", INCIDENT), GONE),
    },
    summary="Of the messages, {unread} came to nobody; {#of one tag} had a tag of which no message came; the group's offset had "
    "passed over what was missing {passed over}.",
)  # fmt: skip

X_02 = claim(
    "X-subscriptions-that-differ-02", "", "Members with different subscriptions need different groups.",
    reading="With a group for each tag every message is given to a member of the group of its tag, and none to two.",
    expected=confirmed("each group has one subscription, by which both the broker and its members filter", KEPT),
    parts=_clean(APART),
    summary="With a group for each tag, {#unread} left messages unread, and {#twice} got messages twice.",
)  # fmt: skip

X_03 = claim(
    "X-subscriptions-that-differ-03", "", "All members of a group have to subscribe to the same; then each message is consumed.",
    reading="Two members that both subscribe to both tags are given every message, and none of them twice.",
    expected=confirmed("the newest subscription is that of each member", KEPT),
    parts=_clean("baseline"),
    summary="With equal subscriptions, {#unread} left messages unread, and {#twice} got messages twice.",
)  # fmt: skip

X_04 = claim(
    "X-subscriptions-that-differ-04", "", "Subscribing 2 topics with 1 consumer group in 2 processes is not supported: the broker "
    "removes the subscription of the other process.",
    reading="Of two members each subscribes to a topic of its own: at least half of the messages of both come to nobody. They lie "
    "in queues that the other member would have, below which the group's offset stays.",
    expected=confirmed("a topic's queues are shared out among all members of the group, of which one does not read it; a heartbeat "
                       "removes the topics that its member does not have", f"{UPDATE}, {CLIENT}.RebalanceImpl.rebalanceByTopic"),
    parts={
        "unread": fact(of("unread_share", TWO_TOPICS), side(0.5, 0, "a half of each topic's queues has no reader", bound=0.4)),
        "none passed over": fact(of("passed_over_share", TWO_TOPICS), WAIT),
    },
    summary="Of two topics at least four tenths stayed unread {unread}; the group's offset had passed over them "
    "{!none passed over}.",
)  # fmt: skip

SCENARIO = Scenario(
    name="subscriptions-that-differ",
    title="One group with two subscriptions: messages vanish",
    summary="Groups whose two members subscribe to different tags of one topic, or to different topics; with a group for each "
    "subscription; and with equal subscriptions.",
    symptom="Two consumers of one group subscribe to different tags, or topics, and messages are missing.",
    threads=("issues/2836", "issues/2954", "issues/5473"),
    faces={
        "different tags": "X-subscriptions-that-differ-01",
        "different topics": "X-subscriptions-that-differ-04",
    },
    advice="Let all members of a group subscribe to the same, or give each subscription a group of its own.",
    cures=("X-subscriptions-that-differ-02", "X-subscriptions-that-differ-03"),
    audited=("subscriptions-differ",),
    sign=Sign(
        pattern=LogPattern.SUBSCRIPTIONS_DIFFER,
        events=(Logged.SUBSCRIPTION_CHANGED, Logged.SUBSCRIPTION_REMOVED),
        because="the subscription of a group changed to and fro: its members subscribe to different tags or topics, of "
        "which the broker keeps one",
    ),
    topology=Topology(name="two-masters", masters=2),
    arms=(
        Arm(
            name="baseline", what="Both members subscribe to both tags.", fault=NoFault(),
            load=GroupMembers(members=(BOTH, BOTH), tags=2, heartbeat_ms=HEARTBEAT_MS),
        ),
        Arm(
            name=INCIDENT, what="One member subscribes to one tag, one to the other.", fault=NoFault(),
            load=GroupMembers(members=(ONE, OTHER), tags=2, heartbeat_ms=HEARTBEAT_MS),
        ),
        Arm(
            name=TWO_TOPICS, what="One member subscribes to one topic, one to another.", fault=NoFault(),
            load=GroupMembers(members=(Member(), Member(topic=1)), topics=2),
        ),
        Arm(
            name=APART, what="What users are advised: a group for each subscription.", fault=NoFault(),
            load=GroupMembers(members=(ONE, OTHER), tags=2, heartbeat_ms=HEARTBEAT_MS, is_apart=True),
        ),
    ),
    phases=Phases(steady_s=SETTLED_S, hold_s_min=10.0, hold_s_max=10.0, recover_s=1.0),
    claims=(X_01, X_02, X_03, X_04),
    budget=TrialBudget(trials=5, deployments=5),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=False,
    schedule="side by side",
    hiccup_ms_max=2000.0,
)  # fmt: skip
"""Eight groups in each of five deployments are the tries."""
