"""Name servers that do not say the same: who notices what, when, and what it costs.

Three name servers, two brokers; the producers and each group's first consumer are bound to the first name server, its second
consumer to the last, which is the one that goes its own way. Every name server is asked twice a second for what it lists.
"""

from __future__ import annotations

import dataclasses

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import (
    BrokerAway,
    Fault,
    ForgottenTopic,
    MoreQueues,
    NetworkCut,
    NoFault,
    PauseNode,
    RestartNameServer,
    UnheardBroker,
)
from harness.model.incident import Sign
from harness.model.loads import LocustUsers, SteadyClients
from harness.model.log_events import Logged, LogPattern
from harness.model.rules import Expectation, Part, Selection
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import (
    claim,
    confirmed,
    control,
    each,
    fact,
    measured_share,
    median,
    never,
    of,
    ratio,
    refuted,
    side,
)

FORGOTTEN, SERVER_PAUSED, UNHEARD, CUT = (
    f"incident-{what}" for what in ("forgotten-topic", "server-paused", "unheard-broker", "cut")
)
UNHEARD_ORDERED, MORE = f"{UNHEARD}-ordered", "incident-more-queues"
KILLED, PAUSED = "incident-broker-killed", "incident-broker-paused"
KILLED_AVOIDED, PAUSED_AVOIDED = "fix-avoidance-killed", "fix-avoidance-paused"

BRIEF_S, HOLD_S, CUT_S = 45.0, 60.0, 140.0
"""A client looks for its route every 30 s and shares queues out every 20 s, a broker registers every 30 s. A name server drops a
broker that has been silent for 120 s, which it looks for every 10 s (5 s in 5.x)."""
SILENT_S, BACK_S = 75.0, 35.0

LOAD = SteadyClients(first_servers=(0,), second_servers=(2,), locust=LocustUsers())
GROUPS = dataclasses.replace(LOAD, groups=8)
"""In five deployments forty groups of two consumers, enough for "never"."""
ORDERED = dataclasses.replace(LOAD, groups=12, ordered=True)
"""As many in three."""
TEN = dataclasses.replace(LOAD, producers=10, rate_hz=40.0)
NO_RETRY = dataclasses.replace(LOAD, retries=0)
AVOIDING = dataclasses.replace(LOAD, avoidance=True, rate_hz=50.0)
"""Two thousand sends while the route is stale, from four threads."""

PATIENT = BrokerSettings(conf={"registerBrokerTimeoutMills": "24000"})
"""The default of 5.x. With the 6 s of 4.6.0 a broker that registers with one name server after the other is late by 6 s only."""


def _arm(name: str, what: str, fault: Fault, hold_s: float, recover_s: float = 5.0, **more: object) -> Arm:
    phases = Phases(steady_s=8.0, hold_s_min=hold_s, hold_s_max=hold_s, recover_s=recover_s)
    return Arm(name=name, what=what, fault=fault, phases=phases, **{"load": LOAD, **more})  # type: ignore[arg-type]


STILL, THE_CUT = PauseNode(node="namesrv-3"), NetworkCut(nodes=("namesrv-3",), peers=("broker-b",))
ARMS = (
    _arm("baseline", "all hear the same", NoFault(), BRIEF_S, trials=1),
    _arm(FORGOTTEN, "the last name server loses the topic", ForgottenTopic(), HOLD_S, trials=2),
    _arm("incident-restart", "the last name server restarts as a topic is made", RestartNameServer(), HOLD_S, BACK_S),
    _arm(SERVER_PAUSED, "the last name server stands still", STILL, SILENT_S, broker=PATIENT, trials=2),
    _arm(UNHEARD, "the last name server does not hear the second broker", UnheardBroker(), HOLD_S, BACK_S, load=GROUPS),
    _arm(UNHEARD_ORDERED, "the same with consumers in order", UnheardBroker(), HOLD_S, BACK_S, load=ORDERED, trials=3),
    _arm(CUT, "no packet between the last name server and the second broker", THE_CUT, CUT_S, 2 * BACK_S, trials=1),
    _arm(MORE, "the topic gets twice its queues; ten producers", MoreQueues(), BRIEF_S, load=TEN),
    _arm(KILLED, "the second broker is killed; sends without retries", BrokerAway(), BRIEF_S, load=NO_RETRY, trials=1),
    _arm(PAUSED, "the second broker stands still; two retries", PauseNode(node="broker-b"), HOLD_S, trials=1),
    _arm("fix-retries", "the second broker is killed; two retries, the default", BrokerAway(), BRIEF_S),
    _arm(KILLED_AVOIDED, "the same with sendLatencyFaultEnable", BrokerAway(), BRIEF_S, load=AVOIDING),
    # Seven, since either of two parts by sides refutes.
    _arm(
        PAUSED_AVOIDED,
        "the second broker stands still; the same",
        PauseNode(node="broker-b"),
        HOLD_S,
        load=AVOIDING,
        trials=7,
    ),
)

DIFFER = side(HOLD_S, 5, "it is told each second for a minute; who asks the others would know within seconds")
THE_SAME = side(0, HOLD_S, "name servers that hear the same say the same; half of a minute's hold is no passing view")
NOT_SILENT = side(0, HOLD_S, "asked twice a second; one that waits for agreement has none for a minute", bound=10)
IN_TURN = side(30, 54, "the period; one after the other, those behind the silent one would wait out its 24 s", bound=40)
STOPPED = side(SILENT_S, 0, "it is stopped; longer than what the others would be without a registration", bound=60)


def _differ(arm: str) -> Selection:
    """The last name server and each of the others, in the hold."""
    return of("views_differ_s", arm, other="namesrv-3", when="held")


def _failed(arm: str) -> Selection:
    return of("failed_send_share", arm)


def _registered(when: str) -> Part:
    return fact(of("unregistered_s", SERVER_PAUSED, servers="others", when=when), IN_TURN)


def _by_code(because: str, *methods: str) -> dict[str, Expectation]:
    return confirmed(because, ", ".join(f"org.apache.rocketmq.{method}" for method in methods))


def _none(count: str, arm: str) -> Part:
    return never(of(count, arm), 100, "what waits in queues that nobody consumes", noun="groups")


def _none_in_order(count: str) -> Part:
    return dataclasses.replace(_none(count, UNHEARD_ORDERED), deployments_min=3)


BY_OWN_ROUTE = refuted(
    "each consumer shares out the queues of its own route: two of eight have two owners, four have none",
    "org.apache.rocketmq.client.impl.consumer.RebalanceImpl.rebalanceByTopic",
)
CONSEQUENCES = (
    "While two consumers of a group see different brokers, at most as many messages wait for 30 s in queues that nobody consumes "
    "as are consumed twice. None is lost, ordered consumers get them in order, and 60 s after the views are equal none waits."
)

# What name servers and brokers do by code they do in each deployment: facts, and no chance that tries would bound.
NAMES_01 = claim(
    "NAMES-01", "A4", "Name servers do not talk to each other: with one of several fixed, their routes differ.",
    reading="No name server has a connection to another one; a topic that one has lost is back there when a broker registers, "
    "and not before; and one that is told that a broker is gone differs from the others as long as it is told so.",
    expected=_by_code("only requests of brokers write the tables, and a name server sends none to another",
                      "namesrv.routeinfo.RouteInfoManager.registerBroker", "namesrv.NamesrvController"),
    parts={
        "no connections": fact(of("server_connections_count", FORGOTTEN), side(0, 1, "one that tells has one at least")),
        "not told": fact(of("back_untold", FORGOTTEN), side(0, 1, "the brokers' logs and the list, both known to a second")),
        "differ": fact(_differ(UNHEARD), DIFFER), "without a fault": control(fact(_differ("baseline"), THE_SAME)),
    }, summary="A name server had a connection to another {!no connections}; a lost topic came back before a broker registered "
    "{!not told}; the views differed for as long as one of the servers was told otherwise {differ}.",
)  # fmt: skip

NAMES_02 = claim(
    "NAMES-02", "A4", "Senders pull routes, so they notice changes late.",
    reading="After a topic got more queues, a producer's first send to a new one comes seconds later, and by its route timer.",
    expected=_by_code("routes are fetched by a timer every pollNameServerInterval (30 s); nothing pushes them",
                      "client.impl.factory.MQClientInstance.startScheduledTask"),
    parts={
        "first send": median(of("notice_s", MORE), side(15, 1, "timers of 30 s in drawn phases; who is told, sends at once")),
        "latest": each(of("notice_s", MORE), side(30, 60, "one period of the timer, and a second one if nothing else tells",
                                                  bound=42), noun="producers"),
    },
    summary="A producer's first send to a new queue came {first send} after the change; {#latest} took longer than 42 s.",
)  # fmt: skip

NAMES_03 = claim(
    "NAMES-03", "A4",
    "The larger consequences are unbalanced queues and duplicate consumption, bearable as long as the views converge in the end.",
    reading=CONSEQUENCES,
    expected=BY_OWN_ROUTE,
    parts={
        "waited": ratio(of("late_messages", UNHEARD), of("duplicate_messages", UNHEARD), side(0, 2, "no queue, or twice as many")),
        "lost": _none("lost_count", UNHEARD), "without a fault": control(_none("late_messages", "baseline")),
        "lost in order": _none_in_order("lost_count"), "disorder": _none_in_order("out_of_order_count"),
        "through": each(of("through_s", UNHEARD), side(50, 120, "both timers; a name server's patience", bound=60), noun="groups"),
    }, summary="{waited} times as many messages waited as were consumed twice. {#lost} lost messages, and of those that consume "
    "in order, {#lost in order} did; {#disorder} got some out of order; {#through} had messages left 60 s after the views were "
    "equal.",
)  # fmt: skip

# Retries alone show what is left to avoidance.
FEW = side(0.002, 0.05, "what is under way when the broker goes, of 2000; or half of what follows", bound=0.005)
MANY = side(0.1, 0, "half of the sends go to that broker while it is listed, or are spared it", bound=0.01)
AVOIDANCE = "org.apache.rocketmq.client.latency.MQFaultStrategy.updateFaultItem"
AVOIDED = confirmed(
    "a send that fails keeps its producer from the broker for 10 min: one send of each thread fails",
    AVOIDANCE,
    RELEASES_4X,
) | refuted(
    "for 10 s only: of a broker that stands still each of four threads finds out five times in a minute, 20 of 3000 sends",
    AVOIDANCE,
    RELEASES_5X,
)
NAMES_04 = claim(
    "NAMES-04", "A4", "Send retries (of normal messages only) and fault avoidance cover for stale routes.",
    reading="With two retries and sendLatencyFaultEnable at most one send in 200 fails for good while a broker is dead or stands "
    "still and is listed; without retries, and with retries alone where it stands still, more do.",
    expected=AVOIDED,
    parts={
        "dead": measured_share(_failed(KILLED_AVOIDED), FEW), "still": measured_share(_failed(PAUSED_AVOIDED), FEW),
        "no retry": control(fact(_failed(KILLED), MANY)), "retries alone": control(fact(_failed(PAUSED), MANY)),
        "listed": control(fact(of("route_stays_s", PAUSED, broker="broker-b"), side(HOLD_S, 0, "a name server waits for 120 s"))),
    },
    summary="With retries and avoidance, {dead} of the sends failed where a broker was dead, and {still} where it stood still.",
)  # fmt: skip

NAMES_05 = claim(
    "NAMES-05", "A4", "A broker registers with each name server separately and asynchronously.",
    reading="While one name server does not answer for 75 s, each broker goes on to register with the others every 30 s, though it "
    "waits for the silent one for 24 s (registerBrokerTimeoutMills); no 40 s pass without.",
    expected=_by_code("each registration is a task of its own in the broker's outer executor",
                      "broker.out.BrokerOuterAPI.registerBrokerAll"),
    parts={
        "others": _registered("held"), "before": control(_registered("before")),
        "silent": control(fact(of("server_silent_s", SERVER_PAUSED, servers="target"), STOPPED)),
    },
    summary="While a name server was silent, with registerBrokerTimeoutMills at 24 s, a broker was without a registration at "
    "another one for 40 s {!others}.",
)  # fmt: skip

NAMES_06 = claim(
    "NAMES-06", "A4", "Name servers stay available though inconsistent; a console shows the view of the one that it asks.",
    reading="While one of three name servers is told that a broker is gone, all answer every question, each by its own view. A "
    "broker that is cut off from one of them makes the same difference; how long it lasts after the cut is told apart.",
    expected=_by_code("a route is read from the tables of the name server that is asked",
                      "namesrv.routeinfo.RouteInfoManager.pickupTopicRouteData"),
    parts={
        "differ": fact(_differ(UNHEARD), DIFFER), "no silence": fact(of("server_silent_s", UNHEARD), NOT_SILENT),
        "differ after a cut": control(fact(_differ(CUT), side(30, 0, "dropped 90 to 130 s after the cut, of 140 s", bound=5))),
        "no silence after a cut": control(fact(of("server_silent_s", CUT), NOT_SILENT)),
    }, summary="The views differed {differ}, and a name server was silent {!no silence}; with a broker that was cut off they "
    "differed {differ after a cut}, and one was silent {!no silence after a cut}.",
)  # fmt: skip

SCENARIO = Scenario(
    name="name-server-divergence",
    title="Name servers disagree about which brokers and queues there are",
    article="A4",
    summary="Three name servers, two brokers, clients that are bound to different name servers.",
    symptom="Some clients find a broker or a topic and others do not, by the name server that they ask.",
    advice="Give clients all name servers, and look at the way from the broker to the one that does not hear of it.",
    cures=("NAMES-04",),
    sign=Sign(
        pattern=LogPattern.REGISTRATIONS_DIFFER,
        events=(Logged.NOT_REGISTERED, Logged.REGISTERED, Logged.BROKER_WENT),
        because="a broker registered with one name server and not with another, so that they list different brokers",
    ),
    topology=Topology(name="three-servers-two-masters", name_servers=3, masters=2),
    arms=ARMS,
    phases=Phases(steady_s=8.0, hold_s_min=HOLD_S, hold_s_max=HOLD_S, recover_s=BACK_S),
    claims=(NAMES_01, NAMES_02, NAMES_03, NAMES_04, NAMES_05, NAMES_06),
    budget=TrialBudget(trials=5, deployments=5, extra_trials=1),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=False,
    hiccup_ms_max=60_000.0,
    schedule="side by side",
    cluster_per_trial=True,
    extra_measures=("views_differ_s", "late_messages", "duplicate_messages", "failed_send_share", "topic_back_s"),
)
