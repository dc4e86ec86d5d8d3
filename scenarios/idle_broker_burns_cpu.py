"""Users: a broker takes a core although nobody sends anything (apache/rocketmq 10966, 8485, 10515, 10199).

A broker of 5.x writes down in batches which transactions have ended (TransactionalOpBatchService): at once when there are 4 KiB of
them, else transactionOpBatchInterval (3 s) after the queue's last batch. What that thread is told next is when it is to look again.
5.5.0, where no batch is to come late any more (10199), tells it by the oldest last batch of all queues, also of those that have
nothing to write: once that is older than the interval, it is to look at once, for ever.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.cells import Parameters
from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import IdleBroker
from harness.model.loads import LoadValue, OpenLoopSends, Transactions
from harness.model.rules import Harm, Part, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X
from scenarios.rules import Side, claim, confirmed, control, fact, of, refuted, side

RESTART, LATER = "fix-restart", "better-long-interval"
SPINS = ("5.5.0",)
"""The release that has something to cure."""
TRANSACTIONS, RATE_HZ = 60, 20.0
ENDED = Transactions(rate_hz=RATE_HZ, transactions=TRANSACTIONS)
CHECKS = {"transactionCheckInterval": "10000"}
"""So that a check falls into each trial."""

TRANSACTION = "org.apache.rocketmq.broker.transaction"
BATCH = f"{TRANSACTION}.queue.TransactionalMessageServiceImpl.batchSendOpMessage"
RUN = f"{TRANSACTION}.queue.TransactionalOpBatchService.run"
DELETE = f"{TRANSACTION}.queue.TransactionalMessageServiceImpl.deletePrepareMessage"
CHECK = f"{TRANSACTION}.queue.TransactionalMessageServiceImpl.check"

A_CORE = side(1, 0.1, "a thread that does not wait, or what looks in from time to time", bound=0.5)
WAITS = side(0.1, 1, "what looks in from time to time, or a thread that does not wait", bound=0.5)
ASKED = side(TRANSACTIONS, 0, "all of which nothing is written down when the check comes, or none")
NOT_ASKED = side(0, TRANSACTIONS, "none, or all of which nothing was written down")
TWICE = side(TRANSACTIONS / 2, 0, "the half of them that was committed, or none")


def _busy(arm: str, at: Side, when: str = "idle") -> Part:
    return fact(of("thread_busy_share", arm, when=when), at, deployments_min=3)


X_01 = claim(
    "X-idle-broker-burns-cpu-01", "", "The thread TransactionalOpBatchService falls into a busy loop after transactional messages "
    "were sent, and takes a core.",
    reading="Sixty transactions end. From 15 s after them on nobody sends, and in 8 s the busiest thread computes for half the "
    "time or more, but for its waits for a core.",
    expected=refuted("an ended transaction is written down by the thread that ends it; there is no batch", DELETE, RELEASES_4X)
    | refuted("a queue with nothing to write is passed over, and the next look is an interval away", f"{BATCH}, {RUN}", ("5.3.3",))
    | confirmed("a queue that has nothing to write keeps the time of its last batch, which makes the next look due at once",
                f"{BATCH}, {RUN}", SPINS),
    parts={"busy": _busy("incident", A_CORE), "without transactions": control(_busy("baseline", WAITS))},
    summary="After sixty transactions the busiest thread of the idle broker took a core {busy}.",
    told=Told(
        weight=Weight.WATCH, harm=Harm.HOLDS,
        holds="after the first transactions a thread (TransactionalOpBatchService) takes a core until a restart",
        fails="transactions leave no thread busy",
    ),
)  # fmt: skip

X_02 = claim(
    "X-idle-broker-burns-cpu-02", "", "A restart of the broker ends it.",
    cure_of=X_01.id,
    reading="The broker is stopped and started; 10 s later no thread computes for half the time. The price is the restart, and "
    "that it begins again with the next transaction.",
    expected=confirmed("a new process has seen no queue, so that the next look is an interval away", f"{BATCH}, {RUN}", SPINS),
    parts={"restarted": _busy(RESTART, WAITS, "restarted"), "before": control(_busy(RESTART, A_CORE))},
    summary="After a restart a thread took a core {!restarted}.",
    told=Told(
        weight=Weight.WATCH,
        do="restart the broker",
    ),
)  # fmt: skip

OF_LATER = {
    "busy": _busy(LATER, WAITS),
    "asked": fact(of("asked_again_count", LATER, by="after"), ASKED, deployments_min=3),
    "twice": fact(of("committed_twice_count", LATER), TWICE, deployments_min=3),
    "by default": control(_busy("incident", A_CORE)),
    "none asked by default": control(
        fact(of("asked_again_count", "incident", by="after"), NOT_ASKED, deployments_min=3)
    ),
}

X_03 = claim(
    "X-idle-broker-burns-cpu-03", "", "A longer transactionOpBatchInterval has it begin later.",
    cure_of=X_01.id,
    reading="With a minute instead of 3 s no thread takes a core half a minute after the transactions. The price: what ended is "
    "asked about by the check that comes before it is written down, and what was committed comes twice.",
    expected=confirmed("a queue's last batch is younger than the interval until then; a check knows what is written down alone",
                       f"{BATCH}, {CHECK}", SPINS),
    parts=OF_LATER,
    summary="With transactionOpBatchInterval=60000 a thread took a core meanwhile {!busy}; checks every 10 s asked about the "
    "transactions again {asked}, and committed messages came twice {twice}.",
    told=Told(
        weight=Weight.WATCH,
        do="a longer transactionOpBatchInterval has it begin later",
    ),
)  # fmt: skip

X_04 = claim(
    "X-idle-broker-burns-cpu-04", "", "A broker without transactional messages leaves the cores alone.",
    reading="With one normal message a second no thread computes for half the time.",
    expected=confirmed("the batch's thread has no queue to look at", f"{BATCH}, {RUN}", ("5.3.3",))
    | confirmed("without a queue the time of the oldest batch is the look's own, and the next one is an interval away",
                f"{BATCH}, {RUN}", SPINS)
    | confirmed("what is to be done at intervals is done by threads that wait for them", DELETE, RELEASES_4X),
    parts={"busy": _busy("baseline", WAITS)},
    summary="Without transactions a thread took a core {!busy}.",
)  # fmt: skip


def _arm(
    name: str,
    what: str,
    load: LoadValue,
    *,
    fault: IdleBroker | None = None,
    conf: Mapping[str, str] | None = None,
    cells: tuple[Parameters, ...] = ({},),
    releases: tuple[str, ...] = (),
) -> Arm:
    return Arm(
        name=name, what=what, fault=fault or IdleBroker(), load=load, cells=cells, releases=releases,
        broker=BrokerSettings(conf={**CHECKS, **(conf or {})}),
    )  # fmt: skip


SCENARIO = Scenario(
    name="idle-broker-burns-cpu",
    title="Transactions have ended, and the idle broker takes a core",
    summary="Sixty transactions are committed or rolled back in three seconds. Then nobody sends, and the broker's threads are "
    "looked at.",
    symptom="A broker's thread TransactionalOpBatchService takes a whole core for good although nobody sends any more.",
    threads=("issues/10966", "pull/10967", "issues/8485", "issues/10515", "issues/10199"),
    faces={"": "X-idle-broker-burns-cpu-01"},
    advice="Restart the broker, which ends it until the next transaction; 5.3.3 does not have it.",
    cures=("X-idle-broker-burns-cpu-02", "X-idle-broker-burns-cpu-03"),
    audited_as_itself="op-thread-spins",
    no_sign="No log tells of it: top -H -p PID of the broker has a thread named TransactionalOp at the top.",
    topology=Topology(name="single"),
    arms=(
        _arm("baseline", "One normal message a second and no transaction.", OpenLoopSends(queues=2), cells=({"rate_hz": 1},)),
        _arm("incident", "Transactions have ended; settings are the defaults.", ENDED),
        _arm(RESTART, "The same; then the broker is stopped and started.", ENDED, fault=IdleBroker(cure="restart"), releases=SPINS),
        _arm(LATER, "The same with transactionOpBatchInterval=60000.", ENDED, conf={"transactionOpBatchInterval": "60000"},
             releases=SPINS),
    ),
    phases=Phases(steady_s=4.0, hold_s_min=20.0, hold_s_max=20.0, recover_s=1.0),
    claims=(X_01, X_02, X_03, X_04),
    budget=TrialBudget(trials=3, deployments=3),
    quick_budget=TrialBudget(trials=1, deployments=1),
    cluster_per_trial=True,
    shares_machine=True,
    hiccup_ms_max=1500.0,
    experiment_version=3,
)  # fmt: skip
"""Whether a thread waits is decided by code, the same in each deployment: it computes nearly always, or next to never.
In the first series what it got was not held against its waits: on shared cores it was 40 to 80 % of one for a thread that did not
rest. In the second one the waits were added, and a kernel had counted sleep among those of a thread that rested."""
