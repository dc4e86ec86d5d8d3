"""A1: one of a broker's thread pools is jammed, and everything else goes on?

An append stalled for 1200 ms jams the send pool: its threads wait for the put lock, its queue fills, and new sends are
refused. Each of three other pools is jammed by itself for 450 ms: its one thread stands still with the next request that it
has taken. Beside that, one request at a time goes to each of the four: a send, a pull, an offset query (the pool of
administration), a heartbeat. Each kind is in a connection of its own, so that one never waits for another in the client.
"""

from __future__ import annotations

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import AppendStall, NoFault, Pool, PoolJam
from harness.model.incident import Sign
from harness.model.loads import OpenLoopSends
from harness.model.log_events import Logged, LogPattern
from harness.model.rules import Harm, Part, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import claim, code, confirmed, control, each, fact, never, of, refuted, side

RATE_HZ = 500
LOAD = OpenLoopSends(probes=("send", "pull", "admin", "heartbeat"), readings=("shared_executors",))
STALL, SHORTER = {"stall_ms": 1200, "rate_hz": RATE_HZ}, {"stall_ms": 450, "rate_hz": RATE_HZ}
JAMS = 12
"""Of each pool; three other kinds of requests beside it make 36 of these that may be jammed as well."""

OTHERS: tuple[Pool, ...] = ("pull", "admin", "heartbeat")
"""The sends' pool keeps its number of threads."""
ONE_THREAD = {f"{name}ThreadPoolNums": "1" for name in ("pullMessage", "adminBroker", "heartbeat")}
"""By default these have tens of threads, and one request would leave the others of its pool running."""
BROKER = BrokerSettings(conf=ONE_THREAD)
SMALL_QUEUE = BrokerSettings(conf={**ONE_THREAD, "sendThreadPoolQueueCapacity": "50"})


def _jams(pool: str) -> str:
    """The arm in which that pool is jammed."""
    return "incident" if pool == "send" else f"incident-{pool}-jammed"


def _answered_beside(jammed: str) -> Part:
    """The bound is an eighth of the longest jam and a third of the others."""
    kinds = tuple(pool for pool in ("send", *OTHERS) if pool != jammed)
    jam_ms = STALL["stall_ms"] if jammed == "send" else SHORTER["stall_ms"]
    return each(
        of("probe_worst_ms", _jams(jammed), kind=kinds),
        side(20, jam_ms, "an idle pool needs a few ms, one that waits for the jam most of it", bound=150),
        noun="pools", scope=f"a jam of {jammed}s" if jammed != "admin" else "a jam of administration",
    )  # fmt: skip


def _is_jammed(pool: str) -> Part:
    stands = side(SHORTER["stall_ms"], 20, "its own request waits for most of the jam, or for a few ms")
    return control(fact(of("probe_worst_ms", _jams(pool), kind=pool), stands))


BUSY_15_PARTS = {
    **{f"beside {pool}": _answered_beside(pool) for pool in ("send", *OTHERS)},
    "unanswered": never(of("probe_unanswered_count", "incident", kind=OTHERS), 1, "one that was given up", noun="pools"),
    "shared": code(of("shared_executors", "incident", moment="after"), side(0, 1, "each has its own, or two share one")),
    "sends refused": control(fact(of("rejected_count", "incident", keyword="any"), side(600, 0, "all of 1200 ms, or none"))),
    **{f"{pool} jammed": _is_jammed(pool) for pool in OTHERS},
}  # fmt: skip

BUSY_15 = claim(
    "BUSY-15", "A1", "Each request processor has its own thread pool, so a jam in one leaves the others running.",
    reading="While one of the pools of sends, pulls, administration and heartbeats is jammed, each request to the other three is "
    "answered within 150 ms, and by the release's code no two processors share a pool.",
    expected=confirmed("each processor is registered with an executor of its own, and only that of sends waits for the put lock",
                       "org.apache.rocketmq.broker.BrokerController.registerProcessor", RELEASES_4X)
    | refuted("peeking, popping, notifying and polling share the executor of pulls, recalls that of sends",
              "org.apache.rocketmq.broker.BrokerController.registerProcessor", RELEASES_5X),
    parts=BUSY_15_PARTS,
    summary="Requests to other pools took over 150 ms beside a jam of sends {beside send}, of pulls {beside pull}, of "
    "administration {beside admin} and of heartbeats {beside heartbeat}; by the code processors share {shared} of the pools.",
    told=Told(
        weight=Weight.DELAY, harm=Harm.FAILS,
        holds="a jam of sends leaves pulls and administration alone",
        fails="thread pools are shared, by the code: a jam of one may slow others (not seen in this lab)",
    ),
)  # fmt: skip

SCENARIO = Scenario(
    name="send-queue-full",
    title="One thread pool is jammed, the others are not",
    article="A1",
    summary="Open-loop sends with one stalled append or another pool that stands still, and requests to the other thread pools "
    "meanwhile; with a send queue of 50 places and with the default of 10,000.",
    symptom="Clients get [OVERLOAD]system busy: the queue of one of a broker's thread pools is full, mostly that of sends.",
    advice="Find the pool: the request code in remoting.log's 'too many requests and system thread pool busy' (10, 310 and 320 are "
    "sends, 11 are pulls; a line in 10 s at most). See what its threads wait for: `jstack PID | grep -A 20 SendMessageThread_` "
    "(PullMessageThread_ for pulls). Sends wait for the put lock and the disk: `mqlab explain append-stall`. A longer queue "
    "(sendThreadPoolQueueCapacity) lets sends wait longer, and those of 200 ms are refused with [TIMEOUT_CLEAN_QUEUE] instead.",
    cures=("BUSY-15",),
    sign=Sign(
        pattern=LogPattern.SEND_POOL_FULL,
        events=(Logged.REFUSED_FULL, Logged.POOL_BUSY),
        because="the queue of a thread pool was full ([OVERLOAD]; sendThreadPoolQueueCapacity for sends)",
    ),
    topology=Topology(name="single"),
    arms=(
        Arm(
            name="baseline",
            what="The same requests, no stall.",
            fault=NoFault(),
            load=LOAD,
            broker=BROKER,
            cells=({"stall_ms": 0, "rate_hz": RATE_HZ},),
        ),
        Arm(
            name="incident",
            what="One append stalls for 1200 ms; the send pool and its queue are at their defaults.",
            fault=AppendStall(),
            load=LOAD,
            broker=BROKER,
            cells=(STALL,),
            trials=JAMS,
        ),
        *(
            Arm(
                name=_jams(pool),
                what=f"The {pool} pool, of one thread, stands still for 450 ms.",
                fault=PoolJam(pool=pool),
                load=LOAD,
                broker=BROKER,
                cells=(SHORTER,),
                trials=JAMS,
            )
            for pool in OTHERS
        ),
        Arm(
            name="incident-small-queue",
            what="A stalled append with sendThreadPoolQueueCapacity=50: the queue is full for most of the stall.",
            fault=AppendStall(),
            load=LOAD,
            broker=SMALL_QUEUE,
            cells=(SHORTER,),
        ),
        Arm(
            name="fix-large-queue",
            what="The default capacity under the same shorter stall: nothing is refused for want of room.",
            fault=AppendStall(),
            load=LOAD,
            broker=BROKER,
            cells=(SHORTER,),
        ),
    ),
    phases=Phases(steady_s=0.3, hold_s_min=0.2, hold_s_max=0.2, recover_s=0.1),
    claims=(BUSY_15,),
    budget=TrialBudget(trials=5, deployments=5, extra_trials=1),
    quick_budget=TrialBudget(trials=3, deployments=1),
    quick_cells={"incident-small-queue": (), "fix-large-queue": ()},
    exclusive=True,
    hiccup_ms_max=40.0,
    injections=("byteman",),
    experiment_version=2,
)
"""The freeze stops the pages that a pull reads from as well, so that it could not tell one pool's jam from another's."""
