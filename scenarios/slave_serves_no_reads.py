"""Users: the master is dead, and its backlog cannot be read from the slave (apache/rocketmq 9879, 4840).

A slave has slaveReadEnable=false by default. One of 4.x makes its answer a refusal for that, and then an answer again by what
it has found; one of 5.x refuses the pull before it is looked at. Ordered consumers need locks, which masters alone give.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import MasterAway, NoFault
from harness.model.incident import Sign
from harness.model.loads import LateGroup
from harness.model.log_events import Logged, LogPattern
from harness.model.rules import Harm, Part, Selection, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import Side, claim, confirmed, control, fact, of, refuted, side

COPIED_S = 75.0
"""A slave of 4.x copies its master's topics every 10 s, one of 5.x when 60 s are over (BrokerController). A topic that it does not
have it does not serve, whatever it stores."""
HELD_S = 75.0
"""From the consumer's start on. A client that leaves out the heartbeat after its first rebalance is given nothing until the next
one, 30 s later (docs/defects/heartbeat-left-out.md): two of these and some time."""
SLAVE_READ = {"slaveReadEnable": "true"}
READS, ORDERED, LIVE = "fix-slave-read", "incident-ordered", "baseline"

BROKER, CLIENT = "org.apache.rocketmq.broker", "org.apache.rocketmq.client.impl"
PULL = f"{BROKER}.processor.PullMessageProcessor"
FIND = f"{CLIENT}.factory.MQClientInstance.findBrokerAddressInSubscribe"
LOCK = f"{CLIENT}.consumer.RebalanceImpl.lock, {FIND}"
ASKED, REFUSED = f"{FIND}, {PULL}.processRequest", f"{FIND}, {PULL}.rejectRequest"

NOTHING = side(0, 1, "the slave hands out nothing, or all 200 messages that it has")
EVERYTHING = side(1, 0, "all 200 messages, or none of them")


def _read(arm: str) -> Selection:
    return of("read_in_hold_share", arm)


def _share(arm: str, at: Side) -> Part:
    return fact(_read(arm), at)


def _kept(arm: str) -> Part:
    return control(
        fact(of("history_read_share", arm), side(1, 0, "the slave's master brings all 200 back, or they are gone"))
    )


X_01 = claim(
    "X-slave-serves-no-reads-01", "", "The master is down, and its backlog cannot be consumed from the slave.",
    reading="With the default settings a group that starts while the master is dead consumes none of 200 messages that the slave "
    f"has, for {HELD_S:.0f} s. They come once the master is back.",
    expected=refuted("PULL_RETRY_IMMEDIATELY for slaveReadEnable is overwritten by the code of what was found", ASKED, RELEASES_4X)
    | confirmed("a slave without slaveReadEnable refuses each pull before it is queued", f"{PULL}.rejectRequest", RELEASES_5X),
    parts={"none read": _share("incident", NOTHING), "kept": _kept("incident"), "live master": control(_share(LIVE, EVERYTHING))},
    summary="Messages that the slave had were consumed while the master was dead {!none read}.",
    told=Told(
        weight=Weight.OUTAGE, harm=Harm.HOLDS,
        holds="a dead master's backlog cannot be read from its slave",
        fails="a dead master's backlog is read from its slave",
    ),
)  # fmt: skip

X_02 = claim(
    "X-slave-serves-no-reads-02", "", "With slaveReadEnable=true consumers read from the slave when the master is down.",
    cure_of=X_01.id,
    reading="The same group consumes all 200 messages while the master is dead.",
    expected=confirmed("a client that knows no master asks the slave, which refuses nothing then", REFUSED, RELEASES_5X),
    parts={"read": _share(READS, EVERYTHING), "by default": control(_share("incident", NOTHING))},
    summary="With slaveReadEnable the group consumed all 200 messages while the master was dead {read}.",
    told=Told(
        weight=Weight.OUTAGE,
        do="slaveReadEnable=true",
    ),
)  # fmt: skip

X_03 = claim(
    "X-slave-serves-no-reads-03", "", "An ordered consumer cannot go on with the slave, slaveReadEnable or not.",
    reading="A group with an ordered consumer consumes none of the 200 messages while the master is dead, though slaves are read.",
    expected=confirmed("a queue is taken only with its lock, which is asked of the master alone", LOCK),
    parts={"none read": _share(ORDERED, NOTHING), "kept": _kept(ORDERED)},
    summary="With slaveReadEnable an ordered consumer was given messages while the master was dead {!none read}.",
)  # fmt: skip

X_04 = claim(
    "X-slave-serves-no-reads-04", "", "While the master lives its backlog is consumed.",
    reading="A group that starts while both live consumes all 200 messages.",
    expected=confirmed("a client asks the master, which slaveReadEnable does not keep from answering", ASKED, RELEASES_4X)
    | confirmed("a client asks the master, which refuses nothing", REFUSED, RELEASES_5X),
    parts={"read": _share(LIVE, EVERYTHING)},
    summary="With a live master all 200 messages were consumed {read}.",
)  # fmt: skip


def _arm(
    name: str,
    what: str,
    fault: MasterAway | NoFault,
    conf: Mapping[str, str] | None = None,
    releases: tuple[str, ...] = (),
    *,
    ordered: bool = False,
) -> Arm:
    load = LateGroup(begins="first", later=0, ordered=ordered)
    return Arm(name=name, what=what, fault=fault, load=load, broker=BrokerSettings(conf=conf or {}), releases=releases)


SCENARIO = Scenario(
    name="slave-serves-no-reads",
    title="The master is dead, and its slave serves no reads",
    summary="A consumer group starts for the first time when the master is dead and the slave has a backlog.",
    symptom="The master is down, and consumers are given nothing of its backlog, which the slave has.",
    threads=("issues/9879", "issues/4840"),
    faces={
        "by default": "X-slave-serves-no-reads-01",
        "an ordered consumer, also with slaveReadEnable": "X-slave-serves-no-reads-03",
    },
    advice="Set slaveReadEnable=true on slaves: a dead master's backlog is read from them then, of topics that they "
    "have copied, which takes 5.3.3 and 5.5.0 a minute. Ordered consumers wait for the master all the same.",
    cures=("X-slave-serves-no-reads-02",),
    audited_as_itself="reads-refused-by-slave",
    sign=Sign(
        pattern=LogPattern.READS_REFUSED,
        events=(Logged.PULL_FAILED,),
        because="a client that knows no live master asked a slave of 5.3.3 or 5.5.0, which refuses each pull while "
        "slaveReadEnable is "
        "false, the default, and writes nothing of it itself",
    ),
    topology=Topology(name="with-slave", slaves_per_master=1),
    arms=(
        _arm(LIVE, "The master lives.", NoFault()),
        _arm("incident", "The master is dead; settings are the defaults.", MasterAway()),
        _arm(READS, "The same with slaveReadEnable=true.", MasterAway(), SLAVE_READ, RELEASES_5X),
        _arm(ORDERED, "The same with slaveReadEnable=true and an ordered consumer.", MasterAway(), SLAVE_READ, ordered=True),
    ),
    phases=Phases(steady_s=COPIED_S, hold_s_min=HELD_S, hold_s_max=HELD_S, recover_s=0.5),
    claims=(X_01, X_02, X_03, X_04),
    budget=TrialBudget(trials=3, deployments=3),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=False,
    hiccup_ms_max=5000.0,
    schedule="side by side",
    cluster_per_trial=True,
)  # fmt: skip
"""Who is asked, and what a slave answers, is decided by code, the same in each deployment: three of them, not five."""
