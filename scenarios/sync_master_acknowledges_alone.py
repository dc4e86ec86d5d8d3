"""Users: SYNC_MASTER is believed to wait for its slave, and acknowledges alone (apache/rocketmq PR 3979, 2528, 5128).

4.x asks for one slave whatever is set. 5.x asks for inSyncReplicas copies, the master's own among them, and that is 1 by default.
A slave that stands still keeps its connection; what the master sends it lies in the kernel.
"""

from __future__ import annotations

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import NoFault, StoppedSlave
from harness.model.incident import Sign
from harness.model.loads import OpenLoopSends
from harness.model.log_events import Logged, LogPattern
from harness.model.rocketmq import FLUSH_SLAVE, NO_SLAVE
from harness.model.rules import Harm, Selection, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import claim, confirmed, control, fact, mean, measured_share, of, refuted, side

HELD_S = 26.0
"""A master gives a slave up that has said nothing for 20 s (haHousekeepingInterval), and 5.x one that a name server has lost."""
CELL = {"rate_hz": 20}
LOAD = OpenLoopSends(queues=2, body_bytes=4096)
"""More than 2 MB while the slave stands still, of which its kernel takes some 100 KB."""
SYNC = {"brokerRole": "SYNC_MASTER"}
BOTH, ACTING = {"inSyncReplicas": "2"}, {"enableSlaveActingMaster": "true", "enableAutoInSyncReplicas": "true"}
TWO_COPIES, DEGRADES = "fix-two-copies", "better-degrades"
NO_COPIES = dict.fromkeys(RELEASES_4X, "MessageStoreConfig has no inSyncReplicas")
NO_DEGRADING = dict.fromkeys(
    RELEASES_4X, "MessageStoreConfig has no enableAutoInSyncReplicas, BrokerConfig no enableSlaveActingMaster"
)

LOG = "org.apache.rocketmq.store.CommitLog"
HANDLE_4X, SUBMIT = f"{LOG}.handleHA", f"{LOG}.submitReplicaRequest"
HANDLE_5X = f"{LOG}.asyncPutMessage, {LOG}.handleHA"
TRANSFER = f"{HANDLE_5X}, org.apache.rocketmq.store.ha.GroupTransferService.doWaitTransfer"

ACCEPTED = side(0, 1, "the master acknowledges by itself, or no send is one that its slave has not taken")
UNSURE = side(1, 0, "no send is acknowledged that the slave has not taken, or each is")
ABSENT = side(
    400,
    0,
    "of 520 messages those that the slave's kernel did not take, or none is acknowledged without the slave",
    bound=1,
)
TOLD = side(4, 0, "of 4.6.0 one send at a time waits for 5 s, which is 4 in 20 s, or none is answered so", bound=1)
NOT_TOLD = side(0, 4, "no answer has the status, or those that waited for the slave have", bound=0)
BY_SLAVE = side(0, 1, "with a slave that answers all are accepted, or none", bound=0.1)
"""Of 4.6.0 a hiccup of 200 ms has the sends refused that wait behind it."""
COMPLETE = side(0, 400, "nothing is acknowledged that the slave lacks, or what its kernel did not take", bound=0)


def _unaccepted(arm: str) -> Selection:
    return of("unaccepted_after_share", arm, after="fault")


def _absent(arm: str) -> Selection:
    return of("lost_on_slave_count", arm)


def _told(arm: str, status: str) -> Selection:
    return of("stored_unsure_count", arm, status=status)


ALONE = {
    "accepted": control(fact(_unaccepted("incident"), ACCEPTED)),
    "absent by default": control(fact(_absent("incident"), ABSENT)),
}

X_01 = claim(
    "X-sync-master-acknowledges-alone-01", "", "SYNC_MASTER returns SEND_OK although the slave does not answer.",
    reading="While the slave stands still each send is acknowledged. Messages acknowledged so are not on the slave when the master "
    "dies, and are lost with it.",
    expected=refuted("it waits for the slave, and answers with another status where that has not come", HANDLE_4X, ("4.6.0",))
    | refuted("handleHA of 4.6.0 as submitReplicaRequest, which the answer waits for", SUBMIT, ("4.9.7",))
    | confirmed("the slave is not waited for unless inSyncReplicas is above 1, and it is 1", HANDLE_5X, RELEASES_5X),
    parts={
        "accepted": fact(_unaccepted("incident"), ACCEPTED),
        "absent": fact(_absent("incident"), ABSENT),
        "with its slave": control(fact(_unaccepted("baseline"), BY_SLAVE)),
    }, summary="While the slave of a SYNC_MASTER stood still sends were acknowledged {accepted}; the slave lacked some of them "
    "when the master died {absent}.",
    told=Told(
        weight=Weight.LOSS, harm=Harm.HOLDS,
        holds="SYNC_MASTER answers SEND_OK while its slave does not answer: the master's death loses these messages",
        fails="SYNC_MASTER does not answer SEND_OK while its slave does not answer",
        cures=("X-sync-master-acknowledges-alone-03",),
    ),
)  # fmt: skip

X_02 = claim(
    "X-sync-master-acknowledges-alone-02", "", "A send to a SYNC_MASTER ends with FLUSH_SLAVE_TIMEOUT where the slave does not "
    "finish in time, and with SLAVE_NOT_AVAILABLE where there is none.",
    reading="Of the sends while the slave stands still some are answered with FLUSH_SLAVE_TIMEOUT, and once the master has given "
    "it up, after 20 s, some with SLAVE_NOT_AVAILABLE.",
    expected=confirmed("5 s for a slave that is connected (syncFlushTimeout), and at once where isSlaveOK says that none is",
                       HANDLE_4X, ("4.6.0",))
    | confirmed("3 s for a slave that is connected (slaveTimeout), and at once where isSlaveOK says that none is", SUBMIT,
                ("4.9.7",))
    | refuted("neither is asked by default; SLAVE_NOT_AVAILABLE is never answered", HANDLE_5X, RELEASES_5X),
    parts={"timeout": mean(_told("incident", FLUSH_SLAVE), TOLD), "none": fact(_told("incident", NO_SLAVE), TOLD)},
    summary="Of the sends to a SYNC_MASTER, {timeout} ended with FLUSH_SLAVE_TIMEOUT; some ended with SLAVE_NOT_AVAILABLE {none}.",
    told=Told(
        weight=Weight.ALARMS, harm=Harm.FAILS,
        holds="a SYNC_MASTER whose slave is late answers FLUSH_SLAVE_TIMEOUT, and SLAVE_NOT_AVAILABLE without one",
        fails="with inSyncReplicas=1, the default, FLUSH_SLAVE_TIMEOUT and SLAVE_NOT_AVAILABLE do not come: a SYNC_MASTER without "
        "its slave answers SEND_OK; with 2 and more FLUSH_SLAVE_TIMEOUT comes after slaveTimeout, 3 s",
        do="keep the alarm on FLUSH_SLAVE_TIMEOUT if you set inSyncReplicas above 1, and have one on 'in-sync replicas not enough' "
        "if you have enableSlaveActingMaster or a controller",
    ),
)  # fmt: skip

X_03 = claim(
    "X-sync-master-acknowledges-alone-03", "", "With inSyncReplicas=2 a message is acknowledged only when the slave has it, too.",
    lacks=NO_COPIES,
    reading="No message that was acknowledged is absent from the slave. The price: while it stands still, no send is acknowledged.",
    expected=confirmed("two copies are waited for, up to slaveTimeout; a slave's by what it acknowledged", TRANSFER, RELEASES_5X),
    parts={"none absent": fact(_absent(TWO_COPIES), COMPLETE), "price": fact(_unaccepted(TWO_COPIES), UNSURE), **ALONE},
    summary="With inSyncReplicas=2 acknowledged messages were absent from the slave {!none absent}; sends were "
    "acknowledged while it stood still {!price}.",
    told=Told(
        weight=Weight.LOSS,
        do="inSyncReplicas=2: sends wait for the slave",
    ),
)  # fmt: skip

X_04 = claim(
    "X-sync-master-acknowledges-alone-04", "", "enableAutoInSyncReplicas lets a master whose slave is gone degrade by itself, and "
    "go on.", lacks=NO_DEGRADING,
    reading="With enableSlaveActingMaster, too, sends are acknowledged again within the 26 s; what is acknowledged then is absent "
    "from the slave.",
    expected=confirmed("the name server forgets a slave without a heartbeat in 10 s; fewer copies are needed then, 1 at least",
                       f"{LOG}.calcNeedAckNums, {HANDLE_5X}", RELEASES_5X),
    parts={
        "again": fact(_unaccepted(DEGRADES), side(0.6, 1, "refused for up to 16 of 26 s, or all the time")),
        "first": fact(_unaccepted(DEGRADES), side(0.3, 0, "not accepted until the slave counts as gone, or at no time")),
        "absent": fact(_absent(DEGRADES), side(100, 0, "what is sent in the last 10 s, or nothing", bound=1)),
    }, summary="With enableAutoInSyncReplicas sends failed at first {first}, and later ones were acknowledged {again}; some of "
    "these were absent from the slave {absent}.",
)  # fmt: skip

X_05 = claim(
    "X-sync-master-acknowledges-alone-05", "", "A SYNC_MASTER whose slave keeps up returns SEND_OK.",
    reading="Nine of ten sends of the baseline and more are acknowledged, and none is answered with another status than SEND_OK.",
    expected=confirmed("the slave's acknowledgement comes within milliseconds", HANDLE_4X, ("4.6.0",))
    | confirmed("the slave's acknowledgement comes within milliseconds of the append", SUBMIT, ("4.9.7",))
    | confirmed("no slave is waited for", HANDLE_5X, RELEASES_5X),
    parts={
        "accepted": measured_share(_unaccepted("baseline"), BY_SLAVE),
        "timeout": mean(_told("baseline", FLUSH_SLAVE), NOT_TOLD),
        "none": mean(_told("baseline", NO_SLAVE), NOT_TOLD),
    },
    summary="Of the sends to a SYNC_MASTER, {accepted} were not acknowledged; {timeout} ended with FLUSH_SLAVE_TIMEOUT, and "
    "{none} with SLAVE_NOT_AVAILABLE.",
)  # fmt: skip


def _arm(name: str, what: str, fault: StoppedSlave | NoFault, releases: tuple[str, ...] = (), **conf: str) -> Arm:
    return Arm(
        name=name, what=what, fault=fault, load=LOAD, broker=BrokerSettings(conf={**SYNC, **conf}), cells=(CELL,),
        releases=releases, trials=3 if conf else 5,
    )  # fmt: skip


SCENARIO = Scenario(
    name="sync-master-acknowledges-alone",
    title="A synchronous master acknowledges without its slave",
    summary="A SYNC_MASTER takes sends while its slave stands still; then the master dies, and what it had acknowledged is looked "
    "for on the slave.",
    symptom="A SYNC_MASTER returns SEND_OK though its slave does not answer, and its death loses what it acknowledged.",
    threads=("pull/3979", "issues/2528", "issues/5128"),
    faces={"": "X-sync-master-acknowledges-alone-01"},
    advice="On 5.3.3 and 5.5.0 set inSyncReplicas=2, with which no send is acknowledged while no slave answers; "
    "enableAutoInSyncReplicas ends that wait, and the promise with it. Compare the largest offsets of master and "
    "slave before the master is given up.",
    cures=("X-sync-master-acknowledges-alone-03", "X-sync-master-acknowledges-alone-04"),
    audited=("sync-master-alone",),
    sign=Sign(
        pattern=LogPattern.SLAVE_SILENT,
        events=(Logged.SLAVE_SILENT,),
        because="a master gave up a slave that had said nothing for 20 s (haHousekeepingInterval); a SYNC_MASTER of 5.3.3 or 5.5.0 "
        "acknowledged all sends meanwhile unless inSyncReplicas is above 1",
    ),
    topology=Topology(name="with-slave", slaves_per_master=1),
    arms=(
        _arm("baseline", "SYNC_MASTER and a slave that keeps up.", NoFault()),
        _arm("incident", "SYNC_MASTER; the slave stands still, and then the master dies.", StoppedSlave()),
        _arm(TWO_COPIES, "The same with inSyncReplicas=2, which 4.x does not know.", StoppedSlave(), RELEASES_5X, **BOTH),
        _arm(
            DEGRADES, "The same with enableSlaveActingMaster and enableAutoInSyncReplicas.", StoppedSlave(), RELEASES_5X,
            **BOTH, **ACTING,
        ),
    ),
    phases=Phases(steady_s=2.0, hold_s_min=HELD_S, hold_s_max=HELD_S, recover_s=0.5),
    claims=(X_01, X_02, X_03, X_04, X_05),
    budget=TrialBudget(trials=5, deployments=5),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=False,
    hiccup_ms_max=2000.0,
    schedule="side by side",
    cluster_per_trial=True,
)  # fmt: skip
"""Who is waited for is decided by code: three deployments. With default settings 4.6.0 may lose sight of a slave that keeps up, so
that its deployments differ: five. What bounds they are judged by is what the readings say: some is one, none is none."""
