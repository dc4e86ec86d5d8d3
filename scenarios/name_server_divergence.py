"""Name servers that do not say the same: who notices what, when, and what it costs.

Three name servers, two brokers; the producers and the first consumer are bound to the first name server, the second
consumer to the last, which is the one that goes its own way. Every name server is asked twice a second for what it lists.
"""

from __future__ import annotations

import dataclasses

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import (
    BrokerAway,
    ForgottenTopic,
    MoreQueues,
    NetworkCut,
    NoFault,
    PauseNode,
    RestartNameServer,
    UnheardBroker,
)
from harness.model.loads import SteadyClients
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.claims import (
    CONFIRMED,
    REFUTED,
    claim,
    expect,
    median,
    of,
    share,
)

HOLD_S = 150.0
"""A name server drops a broker that is silent after 120 s, which it looks for every 10 s (5 s in 5.3.3)."""
BRIEF = Phases(steady_s=8.0, hold_s_min=90.0, hold_s_max=90.0, recover_s=90.0)
"""Three periods of a client's route timer, for what does not wait for a name server to drop a broker."""

LOAD = SteadyClients(first_servers=(0,), second_servers=(2,))
NO_RETRY = dataclasses.replace(LOAD, retries=0)

NO_NEW_TOPIC = BrokerSettings(conf={"transactionCheckInterval": "600000"})
"""A minute after its start a broker of 4.x makes a topic for its first check of transactions, and with any new topic it tells
name servers all of its topics anew. Here the check comes after the hold; a broker that has run for longer has had it."""


NAMES_01 = claim(
    "NAMES-01", "A4", "Name servers do not talk to each other: with one of several fixed, their routes differ.",
    reading="A topic that one name server has lost stays lost there for minutes while the others have it, until the brokers "
    "themselves tell it anew.",
    expected=expect(
        CONFIRMED, "only registrations of brokers write the tables; a name server has no client to any other",
        "org.apache.rocketmq.namesrv.routeinfo.RouteInfoManager.registerBroker, org.apache.rocketmq.namesrv.NamesrvController"
    ),
    parts={
        "told by the others": median(
            of("told_by_others", "incident-forgotten-topic"), "<=", 0.5, "of name servers",
            "Two and a half minutes are long enough for any exchange; a yes or no, with half between the two.", units_min=1),
        "views that differ": median(
            of("views_differ_s", "incident-forgotten-topic", other="namesrv-3"), ">=", 100.0, "s",
            "Most of the hold of 150 s, for each of the two that kept the topic.", units_min=2),
        "views that differ without a fault": median(
            of("views_differ_s", "baseline", other="namesrv-3"), "<=", 5.0, "s",
            "The control: name servers that hear the same say the same.", units_min=2),
    },
    summary="The views differed for {views that differ} s, until the brokers told the topic anew.",
)  # fmt: skip

NAMES_02 = claim(
    "NAMES-02", "A4", "Senders pull routes, so they notice changes late.",
    reading="After a topic got more queues, a producer's first send to a new one comes seconds later, and within the 30 s of "
    "its route timer.",
    expected=expect(
        CONFIRMED, "routes are fetched by a timer every pollNameServerInterval (30 s); nothing pushes them",
        "org.apache.rocketmq.client.impl.factory.MQClientInstance.startScheduledTask"
    ),
    parts={
        "first send to a new queue": median(
            of("notice_s", "incident-more-queues"), ">=", 4.0, "s", "Timers of 30 s with drawn phases have a median of 15 s; "
            "who is told at once needs well under a second. Ten producers are enough to tell the two apart."),
        "within the route timer": share(
            of("notice_s", "incident-more-queues"), None, 35.0, 0.5, "of producers", "pollNameServerInterval is 30 s, and then "
            "a send must happen to choose a new queue; half is what seven of seven allow."),
    },
    summary="A producer's first send to a new queue came {first send to a new queue} s after the change (median).",
)  # fmt: skip

NAMES_03 = claim(
    "NAMES-03", "A4",
    "The larger consequences are unbalanced queues and duplicate consumption, bearable as long as the views converge in the end.",
    reading="While two consumers of a group see different brokers, messages of some queues wait for more than 30 s and others "
    "are consumed twice; after the views have converged nothing is lost.",
    expected=expect(
        CONFIRMED, "each consumer divides the queues of its own route among the members that the broker names; with different "
        "routes the parts overlap and leave gaps, and offsets stay with the broker",
        "org.apache.rocketmq.client.impl.consumer.RebalanceImpl.rebalanceByTopic"
    ),
    parts={
        "messages that waited": median(
            of("late_messages", "incident-unheard-broker"), ">=", 1, "messages",
            "A queue that nobody consumes holds its messages until the views agree; one shows it, hundreds are expected.",
            units_min=1),
        "messages consumed twice": median(
            of("duplicate_messages", "incident-unheard-broker"), ">=", 1, "messages",
            "Two consumers on one queue; one shows it, hundreds are expected.", units_min=1),
        "messages that waited without a fault": median(
            of("late_messages", "baseline"), "<=", 0.5, "messages", "The control: the load itself lets none wait.", units_min=1),
        "lost in the end": median(
            of("lost_count", "incident-unheard-broker"), "<=", 0.5, "messages a queue",
            "Bearable means that every acknowledged message is consumed once the views agree; eight queues are judged.",
            units_min=1),
    },
    summary="While the views differed {messages that waited} messages waited for more than 30 s and {messages consumed twice} "
    "were consumed twice; {lost in the end} were lost.",
)  # fmt: skip

NAMES_04 = claim(
    "NAMES-04", "A4", "Send retries (of normal messages only) and fault avoidance cover for stale routes.",
    reading="With the default two retries at most one send in 200 fails for good while a broker is dead or stands still and the "
    "routes still list it; without retries many do.",
    expected=expect(
        REFUTED, "sendMsgTimeout (3 s) is for all attempts together; an attempt that is not answered uses it up, and no time is "
        "left to retry", "org.apache.rocketmq.client.impl.producer.DefaultMQProducerImpl.sendDefaultImpl"
    ),
    parts={
        "failed without retries, broker dead": median(
            of("failed_send_share", "incident-broker-killed"), ">=", 0.005, "of sends",
            "There must be something to cover: half of the sends go to the dead broker until the route is renewed.", units_min=1),
        "failed with retries, broker dead": median(
            of("failed_send_share", "fix-retries"), "<=", 0.005, "of sends",
            "To cover for it means that hardly any fails; one in 200 allows for sends under way at the kill.", units_min=1),
        "route of a broker that stands still": median(
            of("route_stays_s", "incident-broker-paused", broker="broker-b"), ">=", 60.0, "s",
            "The route must be stale for long for the next part to mean anything.", units_min=3),
        "failed with retries, broker stands still": median(
            of("failed_send_share", "incident-broker-paused"), "<=", 0.005, "of sends",
            "The same with the same retries, where the broker does not refuse but does not answer.", units_min=1),
    },
    summary="With retries {failed with retries, broker dead} of the sends failed while a broker was dead and {failed with "
    "retries, broker stands still} while it stood still (without retries {failed without retries, broker dead} while dead).",
)  # fmt: skip

NAMES_05 = claim(
    "NAMES-05", "A4", "A broker registers with each name server separately and asynchronously.",
    reading="While one name server does not answer for more than two minutes, no broker is absent from the others, which drop "
    "one that has not registered for 120 s.",
    expected=expect(
        CONFIRMED, "each registration is a task of its own in the broker's outer executor",
        "org.apache.rocketmq.broker.out.BrokerOuterAPI.registerBrokerAll"
    ),
    parts={
        "silence of the one": median(
            of("server_silent_s", "incident-server-paused", server="namesrv-3"), ">=", 130.0, "s",
            "Longer than the 120 s after which the others would drop a broker that waits for the silent one.", units_min=1),
        "absent from the others": median(
            of("route_absent_s", "incident-server-paused", server=("namesrv-1", "namesrv-2")), "<=", 1.0, "s",
            "Never absent; the watch asks twice a second, so that one miss is allowed.", units_min=4),
    },
    summary="While one name server was silent for {silence of the one} s, the brokers were absent from the others for {absent "
    "from the others} s.",
)  # fmt: skip

NAMES_06 = claim(
    "NAMES-06", "A4", "Name servers stay available though inconsistent; a console shows the view of the one that it asks.",
    reading="While one of three name servers lacks a broker, because it was told so or because the broker is cut off from it, "
    "all of them answer every question, each by its own view.",
    expected=expect(
        CONFIRMED, "a route is read from the tables of the name server that is asked",
        "org.apache.rocketmq.namesrv.routeinfo.RouteInfoManager.pickupTopicRouteData"
    ),
    parts={
        "views that differ": median(
            of("views_differ_s", "incident-unheard-broker", other="namesrv-3"), ">=", 100.0, "s",
            "Most of the hold of 150 s: who asks the last name server sees one broker less.", units_min=2),
        "views that differ after a cut": median(
            of("views_differ_s", "incident-cut", other="namesrv-3"), ">=", 10.0, "s", "A broker that is cut off from one name "
            "server is dropped there after 120 s of silence and looked for every 10 s, so that 20 s of the hold and the time "
            "until it registers again are left.", units_min=2),
        "silence": median(
            of("server_silent_s", "incident-unheard-broker"), "<=", 1.0, "s",
            "Available means that none leaves a question unanswered.", units_min=3),
        "silence after a cut": median(
            of("server_silent_s", "incident-cut"), "<=", 1.0, "s", "The same for a cut between two nodes only.", units_min=3),
    },
    summary="The views differed for {views that differ} s, and no name server was silent for longer than {silence} s.",
)  # fmt: skip

SCENARIO = Scenario(
    name="name-server-divergence",
    title="Name servers disagree about which brokers and queues there are",
    article="A4",
    summary="Three name servers, two brokers, clients that are bound to different name servers.",
    topology=Topology(name="three-servers-two-masters", name_servers=3, masters=2),
    arms=(
        Arm(
            name="baseline",
            what="all hear the same",
            fault=NoFault(),
            load=LOAD,
            phases=BRIEF,
        ),
        Arm(
            name="incident-forgotten-topic",
            what="the last name server loses the topic",
            fault=ForgottenTopic(),
            load=LOAD,
            broker=NO_NEW_TOPIC,
        ),
        Arm(
            name="incident-restart",
            what="the last name server is restarted, and a topic is created meanwhile",
            fault=RestartNameServer(),
            load=LOAD,
            phases=BRIEF,
        ),
        Arm(
            name="incident-server-paused",
            what="the last name server stands still and goes on",
            fault=PauseNode(node="namesrv-3"),
            load=LOAD,
        ),
        Arm(
            name="incident-unheard-broker",
            what="the last name server does not hear the second broker",
            fault=UnheardBroker(),
            load=LOAD,
        ),
        Arm(
            name="incident-cut",
            what="no packet passes between the last name server and the second broker",
            fault=NetworkCut(nodes=("namesrv-3",), peers=("broker-b",)),
            load=LOAD,
        ),
        Arm(
            name="incident-more-queues",
            what="the topic gets twice its queues; ten producers with timers of their own",
            fault=MoreQueues(),
            load=SteadyClients(producers=10, rate_hz=40.0, first_servers=(0,), second_servers=(2,)),
            phases=BRIEF,
        ),
        Arm(
            name="incident-broker-killed",
            what="the second broker is killed; sends without retries",
            fault=BrokerAway(),
            load=NO_RETRY,
            phases=BRIEF,
        ),
        Arm(
            name="incident-broker-paused",
            what="the second broker stands still; sends with the default retries",
            fault=PauseNode(node="broker-b"),
            load=LOAD,
        ),
        Arm(
            name="fix-retries",
            what="the second broker is killed; sends with the default retries",
            fault=BrokerAway(),
            load=LOAD,
            phases=BRIEF,
        ),
    ),
    phases=Phases(steady_s=8.0, hold_s_min=HOLD_S, hold_s_max=HOLD_S, recover_s=90.0),
    claims=(NAMES_01, NAMES_02, NAMES_03, NAMES_04, NAMES_05, NAMES_06),
    budget=TrialBudget(trials=1, deployments=1),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=False,
    hiccup_ms_max=60_000.0,
    schedule="side by side",
    cluster_per_trial=True,
    extra_measures=("route_stays_s", "late_messages", "duplicate_messages"),
)
