"""Users: a name server restarts, one topic is made at the wrong moment, and the others stay hidden (apache/rocketmq 4522, 9411).

A broker sends all topics every 30 s, a new one at once. A name server that takes the new one for the broker's first registration
has the version of the broker's table from it, and finds nothing new in the full ones that come with the same version.
"""

from __future__ import annotations

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import EarlyTopic
from harness.model.loads import OpenLoopSends
from harness.model.rules import Harm, Part, Selection, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import claim, confirmed, control, fact, of, refuted, side

HELD_S = 65.0
"""Two full registrations of a broker, which come every 30 s."""
CELL = {"rate_hz": 10}
SETTLED = BrokerSettings(conf={"transactionCheckInterval": "2000"})
"""A broker's first look at half messages makes their topic, and so registers all topics in full: by default a minute after its
first start, in the middle of a trial. One that has run before has the topic."""
PERMISSION, RESTART, ANOTHER = "fix-permission", "fix-restart", "fix-another-topic"

ROUTES = "org.apache.rocketmq.namesrv.routeinfo.RouteInfoManager"
REGISTER, IS_CHANGED = f"{ROUTES}.registerBroker", f"{ROUTES}.isBrokerTopicConfigChanged"
BROKER = "org.apache.rocketmq.broker"
UPDATE_ROUTE = "org.apache.rocketmq.client.impl.factory.MQClientInstance.updateTopicRouteInfoFromNameServer"

IS_LISTED = side(1, 0, "the name server has a route of it, or answers that there is none")
IS_HIDDEN = side(0, 1, "the name server answers that there is no route, or has it")


def _listed(arm: str, topic: str, when: str) -> Selection:
    return of("topic_listed", arm, topic=topic, when=when)


def _back(arm: str) -> Part:
    return fact(_listed(arm, "old", "cured"), IS_LISTED)


def _hidden(arm: str) -> Part:
    return fact(_listed(arm, "old", "held"), IS_HIDDEN)


OF_ONE = {
    "old topic hidden": _hidden("incident"),
    "new": fact(_listed("incident", "new", "held"), IS_LISTED),
    "before": control(fact(_listed("incident", "old", "before"), IS_LISTED)),
    "without a topic": control(fact(_listed("baseline", "old", "held"), IS_LISTED)),
}

X_01 = claim(
    "X-name-server-restart-hides-topics-01", "", "Where a topic is made right after a name server's restart, the name server has "
    "the route of that topic alone.",
    reading=f"{HELD_S:.0f} s after the restart, in which the broker has sent all of its topics twice, the topic that was there "
    "has no route, and the new one has.",
    expected=confirmed("the one topic counts as the first registration; full ones of the same version are not looked into",
                       f"{REGISTER}, {IS_CHANGED}", ("4.6.0",))
    | confirmed("as in 4.6.0: registerFirst is not set again, and the version is the one topic's", f"{REGISTER}, {IS_CHANGED}",
                ("4.9.7",))
    | refuted("of a broker that is not known one topic is refused; else each topic is looked at by itself", REGISTER, RELEASES_5X),
    parts=OF_ONE,
    summary="With transactionCheckInterval=2000 the old topic had a route {!old topic hidden}, and the new one had one {new}.",
    told=Told(
        weight=Weight.OUTAGE, harm=Harm.HOLDS,
        holds="a topic that is made right after a name server's restart hides all others from it",
        fails="a topic that is made right after a name server's restart hides no other",
    ),
)  # fmt: skip

X_02 = claim(
    "X-name-server-restart-hides-topics-02", "", "Clients throw that the topic does not exist, when a name server restarts.",
    reading="Sends fail of a producer that has sent before, which asks for its route every 30 s.",
    expected=refuted("a client whose topic the name server does not have keeps the route that it had", UPDATE_ROUTE, ("4.6.0",))
    | refuted("an answer that the topic has no route changes nothing in the client's tables", UPDATE_ROUTE, ("4.9.7",))
    | refuted("the client keeps its route; besides, the name server has it again with the next full registration", UPDATE_ROUTE,
              ("5.3.3",))
    | refuted("the client keeps its route, as in 5.3.3, until the name server has it again", UPDATE_ROUTE, ("5.5.0",)),
    parts={"fail": fact(of("unaccepted_after_share", "incident", after="fault"),
                        side(0.5, 0, "all from its next look at the route on, within 30 of 65 s; or none"))},
    summary="Sends of a producer that ran before failed {fail}.",
)  # fmt: skip

OF_CURES = {
    "permission": _back(PERMISSION),
    "restart": _back(RESTART),
    "price of a restart": fact(of("unaccepted_in_cure_count", RESTART), side(40, 0, "10 sends a second for 4 s, or none", bound=1)),
    "price of the permission": fact(of("unaccepted_in_cure_count", PERMISSION),
                                    side(0, 40, "none, or as many as in a restart", bound=0)),
    "old topic hidden, then restarted": control(_hidden(RESTART)),
    "old topic hidden, then written": control(_hidden(PERMISSION)),
}  # fmt: skip

X_03 = claim(
    "X-name-server-restart-hides-topics-03", "", "A restart of the broker brings the topics back, and so does a change of its "
    "configuration that makes it register in full.",
    cure_of=X_01.id,
    reading="The old topic has a route again after the broker was restarted, and after its own brokerPermission was written to it "
    "once more. The restart has sends fail, the setting has none.",
    expected=confirmed("brokerPermission gives the table a new version and registers it; a broker that went is unknown again",
                       f"{BROKER}.processor.AdminBrokerProcessor.updateBrokerConfig, {ROUTES}.unregisterBroker", ("4.6.0",))
    | confirmed("a new version comes with brokerPermission alone, and all topics with it; a broker that left registers anew",
                f"{BROKER}.processor.AdminBrokerProcessor.updateBrokerConfig, {ROUTES}.unregisterBroker", ("4.9.7",)),
    parts=OF_CURES,
    summary="The old topic was back after brokerPermission was written {permission}, and after a restart of the broker {restart}. "
    "Sends failed during the restart {price of a restart}, and while the setting was written {!price of the permission}.",
    told=Told(
        weight=Weight.OUTAGE,
        do="make the broker register in full: write its own brokerPermission to it, or restart it",
    ),
)  # fmt: skip

X_04 = claim(
    "X-name-server-restart-hides-topics-04", "", "The broker completes its registration once the version of its topics changes.",
    cure_of=X_01.id,
    reading="The old topic has a route again within 35 s after one more topic was made, which changes the version.",
    expected=refuted("the new topic's own registration brings the new version along, so that the full ones are old again",
                     f"{BROKER}.BrokerController.registerIncrementBrokerData, {REGISTER}", ("4.6.0",))
    | refuted("as in 4.6.0 the version comes with the one topic, before the full registration",
              f"{BROKER}.BrokerController.registerIncrementBrokerData, {REGISTER}", ("4.9.7",)),
    parts={"back": _back(ANOTHER), "old topic hidden": control(_hidden(ANOTHER))},
    summary="With transactionCheckInterval=2000 the old topic was back after one more was made {back}.",
)  # fmt: skip

X_05 = claim(
    "X-name-server-restart-hides-topics-05", "", "Where no topic is made meanwhile, a restarted name server has every topic again.",
    reading=f"{HELD_S:.0f} s after the restart, in which the broker has sent all of its topics twice, the topic that was there has "
    "a route.",
    expected=confirmed("a broker that is not in the name server's tables counts as a first registration, and all topics are taken",
                       REGISTER),
    parts={"listed": fact(_listed("baseline", "old", "held"), IS_LISTED)},
    summary="Without a new topic the restarted name server had the old one {listed}.",
)  # fmt: skip


def _arm(name: str, what: str, fault: EarlyTopic, releases: tuple[str, ...] = ()) -> Arm:
    return Arm(
        name=name,
        what=what,
        fault=fault,
        load=OpenLoopSends(queues=2),
        broker=SETTLED,
        cells=(CELL,),
        releases=releases,
    )


SCENARIO = Scenario(
    name="name-server-restart-hides-topics",
    title="A name server restarts, a topic is made, and the others stay hidden",
    summary="One name server is restarted, and a topic is made before the broker has registered there; with what users are advised "
    "to do then.",
    symptom="A name server restarts, one topic is made, and no route of the others comes back (No route info of this "
    "topic).",
    threads=("issues/4522", "issues/9411", "issues/5322", "pull/4523"),
    faces={
        "the topics have no route": "X-name-server-restart-hides-topics-01",
        "a producer that ran before cannot send": "X-name-server-restart-hides-topics-02",
    },
    advice="Make no topic within 30 s of a name server's restart. brokerPermission written to the broker ends it, one "
    "more topic does not.",
    cures=("X-name-server-restart-hides-topics-03", "X-name-server-restart-hides-topics-04"),
    no_sign="No log names the topics that are hidden: ask each name server for its topics, and compare them with the "
    "broker's own.",
    topology=Topology(name="single"),
    arms=(
        _arm("baseline", "The name server is restarted, and no topic is made.", EarlyTopic(creates=False)),
        _arm("incident", "A topic is made before the broker has registered with the restarted name server.", EarlyTopic()),
        _arm(PERMISSION, "Then the broker's own brokerPermission is written to it.", EarlyTopic(cure="permission"), RELEASES_4X),
        _arm(RESTART, "Then the broker is stopped and started.", EarlyTopic(cure="restart"), RELEASES_4X),
        _arm(ANOTHER, "Then one more topic is made.", EarlyTopic(cure="another-topic"), RELEASES_4X),
    ),
    phases=Phases(steady_s=2.0, hold_s_min=HELD_S, hold_s_max=HELD_S, recover_s=1.0),
    claims=(X_01, X_02, X_03, X_04, X_05),
    budget=TrialBudget(trials=3, deployments=3),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=False,
    hiccup_ms_max=5000.0,
    schedule="side by side",
    cluster_per_trial=True,
)  # fmt: skip
"""Registrations come every 30 s. What they do is decided by code, the same in each deployment: three of them, not five."""
