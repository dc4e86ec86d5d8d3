"""Users: a cluster is upgraded node by node under load, with its stores, topics, groups and offsets.

Name servers, slaves, masters, then the clients, one after another, from the release of the run to ``to``. A run on that release
itself is a rolling restart: what it shows comes of the restarts, not of the other release.
"""

from __future__ import annotations

from harness.language import phrase
from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import NoFault, RollingUpgrade, UpgradeStep
from harness.model.loads import KeyedSends
from harness.model.rules import Harm, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.rules import claim, confirmed, control, exists, fact, never, of, refuted, side

LOAD = KeyedSends(kinds=("hash", "normal"), rate_hz=300.0, threads=12)
NEWEST = {"to": "5.5.0"}
NODES: tuple[UpgradeStep, ...] = ("namesrv", "slave", "master")
CLIENTS: tuple[UpgradeStep, ...] = ("consumer", "producer")
ROUTE_S = 35.0
"""Producers ask for their routes every 30 s."""
ORDER = (
    phrase("the name servers"),
    phrase("the slaves"),
    phrase("the masters"),
    phrase("the consumers"),
    phrase("the producers"),
)
"""What the steps of ``NODES`` and ``CLIENTS`` are, in an operator's words."""
FIRST = phrase(
    "before each master is stopped: mqadmin wipeWritePerm -n 'NAMESRV;NAMESRV' -b BROKERNAME, and wait for {seconds:g} s, in "
    "which producers ask for their routes",
    seconds=ROUTE_S,
)
BROKERS = BrokerSettings(conf={"timerFlushIntervalMs": "60000", "waitTimeMillsInSendQueue": "30000"})
"""A broker of 5.x compares its timer wheel once a second by default; 4.x does not know the setting. And what a broker that has
just started refuses, since two cores are few for seven processes, is no matter of an upgrade."""

BACK, DRAINED = "incident-rollback", "fix-drained"

STORE, CLIENT = "org.apache.rocketmq.store", "org.apache.rocketmq.client"
LOG = f"{STORE}.CommitLog.recoverNormally, {STORE}.DefaultMessageStore.shutdown"
PUBLISH = f"{CLIENT}.impl.factory.MQClientInstance.topicRouteData2TopicPublishInfo"
HASH = f"{CLIENT}.producer.selector.SelectMessageQueueByHash.select"

LOST = "what a store lost with its end, or an offset that ran ahead passed over: tens of messages at 300 a second and topic"

X_01 = claim(
    "X-rolling-upgrade-01", "", "A rolling upgrade loses no acknowledged message.",
    reading="Of the messages that were acknowledged from one restart to the next each is consumed by its group.",
    expected=confirmed("a broker that is told to end writes down all it has; the next one reads the last files again", LOG),
    parts={
        "restarts": never(of("step_lost_count", "incident"), 30, LOST),
        "without a restart": control(fact(of("step_lost_count", "baseline"), side(0, 30, LOST, bound=0))),
    },
    summary="An acknowledged message was missing after {#restarts}.",
    told=Told(
        weight=Weight.LOSS, harm=Harm.FAILS,
        holds="no acknowledged message is lost, restart by restart",
        fails="acknowledged messages are lost in restarts",
    ),
)  # fmt: skip

X_02 = claim(
    "X-rolling-upgrade-02", "", "A roll-back in the middle of a rolling upgrade loses no acknowledged message.",
    reading="The same where all nodes that have the other release return to the one before, on the store that the other one wrote.",
    expected=confirmed("the log's messages have the same format in both, and JSON that names more than a release knows is read",
                       f"{LOG}, org.apache.rocketmq.common.ConfigManager.load"),
    parts={"restarts": never(of("step_lost_count", BACK), 30, LOST)},
    summary="An acknowledged message was missing after {#restarts}.",
    told=Told(
        weight=Weight.LOSS, harm=Harm.FAILS,
        holds="half of the way and all the way back loses no acknowledged message",
        fails="a roll-back half of the way loses acknowledged messages",
    ),
)  # fmt: skip

X_03 = claim(
    "X-rolling-upgrade-03", "", "A rolling upgrade keeps the order of messages with one key.",
    reading="No message of a key, sent by the client's own hash selector and consumed in order, first comes after a later one.",
    expected=refuted("the selector counts the queues of the brokers that the route has, which lacks a master that is away",
                     f"{HASH}, {PUBLISH}"),
    parts={
        "keys": never(of("key_out_of_order_count", "incident", send="hash"), 1, "one message that waited in the queue before"),
        "without a restart": control(fact(of("key_out_of_order_count", "baseline", send="hash"),
                                          side(0, 1, "each key has one queue", bound=0))),
    },
    summary="{#keys} had a message that came after a later one.",
    told=Told(
        weight=Weight.DELAY, harm=Harm.FAILS,
        holds="messages of one key keep their order",
        fails="messages of one key come out of their order",
    ),
)  # fmt: skip

X_04 = claim(
    "X-rolling-upgrade-04", "", "A rolling upgrade may stop all sends, although one of two masters is there all the while.",
    reading="In the restart of some master no normal send, with the client's own two retries, is acknowledged for 3 s and more; in "
    "none of a name server or slave.",
    expected=confirmed("a route that was asked for while one master was away has the other one alone, which is restarted next",
                       f"{PUBLISH}, {CLIENT}.impl.producer.DefaultMQProducerImpl.sendDefaultImpl"),
    parts={
        "silence": exists(of("step_silent_s", "incident", role="master", send="normal"),
                          side(9, 1, "as long as a master is away, 8 to 10 s; or one timeout at most", bound=3),
                          without=of("step_silent_s", "incident", role=("namesrv", "slave"), send="normal")),
    },
    summary="With waitTimeMillsInSendQueue=30000, {#silence} of a master had 3 s and more without an acknowledged normal send.",
    told=Told(
        weight=Weight.OUTAGE, harm=Harm.HOLDS,
        holds="no send is acknowledged for 3 s and more while a master restarts, though another one is there",
        fails="sends go on while a master restarts",
        asks="whether all normal sends stop for 3 s and more while a master restarts, though another one is there",
    ),
)  # fmt: skip

X_05 = claim(
    "X-rolling-upgrade-05", "", "No send fails where producers hear of each restart of a master before it comes.",
    reading="With its permission to write taken from the name servers' routes 35 s before a master is stopped, each ordered and "
    "each normal send of that time is acknowledged; without, ordered ones are not.",
    expected=confirmed("queues that the route lists as read-only get no sends; the broker itself goes on taking them", PUBLISH),
    parts={
        "drained": fact(of("step_failed_share", DRAINED, role="master"),
                        side(0, 0.2, "none, or those to one master of two while it is away", bound=0.001)),
        "at once": control(fact(of("step_failed_share", "incident", role="master", send="hash"),
                                side(0.05, 0, "a fifth and more of the ordered sends from a master's end to the next step"))),
    },
    summary="With waitTimeMillsInSendQueue=30000 every send was acknowledged from a master's restart to the next step {drained}; "
    "without the precaution ordered ones failed {at once}.",
    told=Told(
        weight=Weight.OUTAGE, harm=Harm.FAILS,
        holds="no send fails where each master's permission to write is taken 35 s before it is stopped (mqadmin wipeWritePerm)",
        fails="sends fail although each master's permission to write is taken 35 s before it is stopped (mqadmin wipeWritePerm)",
        asks="whether no send fails where the permission is taken so",
    ),
)  # fmt: skip

SCENARIO = Scenario(
    name="rolling-upgrade",
    title="A rolling upgrade under load",
    summary="300 ordered and 300 normal messages a second while each node, then each client, is stopped and started of another "
    "release, on its store; half of the way and back; and with each master's permission to write taken first.",
    symptom="In a rolling upgrade, one broker after another, all sends fail for as long as the second master is away.",
    threads=("issues/459", "issues/5312"),
    faces={"": "X-rolling-upgrade-04"},
    advice="Run `mqadmin wipeWritePerm -n 'NAMESRV;NAMESRV' -b BROKERNAME`, and wait for half a minute, before each "
    "master is stopped.",
    cures=("X-rolling-upgrade-05",),
    no_sign="A broker that is told to end says so and is fine: compare when each master was away with what producers "
    "failed to send.",
    topology=Topology(name="two-pairs", name_servers=2, masters=2, slaves_per_master=1),
    arms=(
        Arm(
            name="baseline",
            what="Nothing is restarted.",
            fault=NoFault(),
            load=LOAD,
            broker=BROKERS,
            cells=(NEWEST,),
            trials=2,
        ),
        Arm(
            name="incident",
            what="Each node is upgraded as soon as the one before is back; then the clients.",
            fault=RollingUpgrade(order=(*NODES, *CLIENTS)),
            load=LOAD,
            broker=BROKERS,
            cells=(NEWEST,),
        ),
        Arm(
            name=BACK,
            what="Once the first master has the other release, all that have it go back.",
            fault=RollingUpgrade(order=NODES, back=True),
            load=LOAD,
            broker=BROKERS,
            cells=(NEWEST,),
        ),
        Arm(
            name=DRAINED,
            what="As the incident; each master's permission to write is taken a route period before it is stopped.",
            fault=RollingUpgrade(order=(*NODES, *CLIENTS), drained_s=ROUTE_S),
            load=LOAD,
            broker=BROKERS,
            cells=(NEWEST,),
            trials=2,
        ),
    ),
    phases=Phases(steady_s=8.0, hold_s_min=10.0, hold_s_max=10.0, recover_s=0.0, drain_s_max=90.0),
    claims=(X_01, X_02, X_03, X_04, X_05),
    budget=TrialBudget(trials=5, deployments=5),
    quick_budget=TrialBudget(trials=1, deployments=1),
    hiccup_ms_max=2000.0,
    cluster_per_trial=True,
    extra_measures=("step_again_count", "step_took_s", "step_key_silent_s"),
)
"""Seven nodes and their clients keep two cores busy for minutes: beside another trial each restart would take three times as
long. A hiccup of two seconds is no outage of three."""
