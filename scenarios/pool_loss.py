"""A1, A2: what a broker that dies takes with it, with the transient store pool and without.

Two deaths: of the process (kill -9), after which the page cache is still the kernel's, and of the machine (the store's file
system is shut down without flushing its journal), after which there is what had been synced. The load is 1000 sends a
second; it ends with the death, the broker starts again on what its store has, and what was acknowledged and lies beyond
the end of its queue is counted as lost. One interval is stretched at a time, which tells the two boundaries apart: the
commit (buffer to page cache) by commitCommitLogLeastPages and ...ThoroughInterval, the flush (page cache to disk) by
flushCommitLogLeastPages and ...ThoroughInterval.
"""

from __future__ import annotations

from harness.model.claims import Claim, Part, Quantity, Relation, Statistic
from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import BrokerCrash, NoFault
from harness.model.loads import OpenLoopSends
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from harness.model.verdicts import VerdictKind
from scenarios.expectations import expect

RATE_HZ = 1000
LOAD = OpenLoopSends(body_bytes=512, send_timeout_ms=2000)
FILES = {"mappedFileSizeCommitLog": str(1024 * 1024)}
"""Less than two seconds of the load. A broker goes on in the file that it finds at its start without the pool, whatever the switch
says; only the files after that have a buffer. With large files a broker that was killed once would lose nothing more."""
CELLS = ({"rate_hz": RATE_HZ},)
DEATHS = 8
"""Of an arm that loses what lies between its death and the last commit: anything from nothing to a file, whose mean five
deaths do not tell from a quarter of it."""

DEFAULTS = {
    "commitCommitLogLeastPages": "4",
    "commitCommitLogThoroughInterval": "200",
    "flushCommitLogLeastPages": "4",
    "flushCommitLogThoroughInterval": "10000",
}
NEVER_PAGES, NEVER_MS = "1000000", "60000"
SLOW_COMMIT = {
    **DEFAULTS,
    "commitCommitLogLeastPages": NEVER_PAGES,
    "commitCommitLogThoroughInterval": "3000",
}
SLOW_FLUSH = {
    **DEFAULTS,
    "flushCommitLogLeastPages": NEVER_PAGES,
    "flushCommitLogThoroughInterval": NEVER_MS,
}
POOL = {**FILES, "transientStorePoolEnable": "true"}
OFF, ON = BrokerSettings(conf=FILES), BrokerSettings(conf=POOL)
OFF_OWN_DISK = BrokerSettings(store="loop-ext4", conf=FILES)
ON_OWN_DISK = BrokerSettings(store="loop-ext4", conf=POOL)
SYNC_OWN_DISK = BrokerSettings(store="loop-ext4", conf={**FILES, "flushDiskType": "SYNC_FLUSH"})

COMMIT = "org.apache.rocketmq.store.CommitLog.CommitRealTimeService"
FLUSH = "org.apache.rocketmq.store.CommitLog.FlushRealTimeService"
FEW = "100 ms of arrivals, several times what a commit of every 16 KiB leaves behind; the stretched one leaves many times it."
NONE_EXPECTED = "None is expected; five deaths without any bound the mean below 0.74."


def _lost(arm: str) -> Quantity:
    return Quantity(measure="lost_count", arm=arm, statistic=Statistic.MEAN)


def _part(name: str, arm: str, relation: Relation, bound: float, why: str) -> Part:
    return Part(
        name=name, quantity=_lost(arm), relation=relation, bound=bound, unit="messages a death", why=why, units_min=3
    )


KILLED_WITHOUT = _part("killed without the pool", "incident-killed", "<=", 1.5, NONE_EXPECTED)
KILLED_WITH = _part(
    "killed with the pool",
    "incident-killed-pool",
    ">=",
    1.0,
    "One acknowledged message a death is loss; 16 KiB, the least that is committed, hold about 25.",
)
KILLED_SLOW_COMMIT = _part(
    "killed with a slow commit",
    "incident-killed-pool-slow-commit",
    ">=",
    200.0,
    "Up to a file of about 1600 messages is not committed, half of it on average; a quarter of that is clearly beyond what "
    "the default leaves.",
)
KILLED_SLOW_FLUSH = _part("killed with a slow flush", "incident-killed-pool-slow-flush", "<=", 100.0, FEW)

BUSY_05 = Claim(
    id="BUSY-05",
    article="A1",
    says="The price of the pool is possible loss of messages.",
    reading="When the broker's process is killed under load, acknowledged messages are absent from its store with the pool, "
    "at default settings, and none is without it.",
    parts=(KILLED_WITH, KILLED_WITHOUT),
    expected=expect(
        VerdictKind.CONFIRMED,
        "a message is acknowledged when it is in the buffer, and the buffer dies with the process",
        "org.apache.rocketmq.store.MappedFile.appendMessagesInner and commit0 (in 5.x of logfile.DefaultMappedFile)",
    ),
    summary="With the pool a killed broker had lost {killed with the pool} acknowledged messages, without it "
    "{killed without the pool}.",
)

POOL_04 = Claim(
    id="POOL-04",
    article="A1",
    says="Buffers are committed to the page cache on a timer, then flushed to disk.",
    reading="By what is lost: with a slow commit a killed process loses what was not committed; with a slow flush it does "
    "not (the page cache has it), and a machine without power does (the disk has not).",
    parts=(
        KILLED_SLOW_COMMIT,
        KILLED_SLOW_FLUSH,
        _part(
            "without power, slow flush",
            "incident-powerless-pool-slow-flush",
            ">=",
            300.0,
            "All that a trial sends, about 3000, waits for a flush that comes once a minute; a tenth is clearly more than "
            "what the commit leaves behind.",
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "one thread writes buffers to the file's channel by its timer and wakes the one that forces it to disk",
        f"{COMMIT}, {FLUSH}",
    ),
    summary="Lost of what was acknowledged: {killed with a slow commit} messages by a kill with a slow commit, "
    "{killed with a slow flush} by a kill with a slow flush, and {without power, slow flush} by a power loss with a slow "
    "flush.",
)

POOL_05 = Claim(
    id="POOL-05",
    article="A1, A2",
    says="A broker that dies (out of memory, say) loses what had not been written to the commit log on disk yet.",
    reading="The death of its process. It loses acknowledged messages with the pool, many times more with a slow commit; "
    "with a slow flush it loses no more than with the default: written to the file is the boundary, not synced to disk.",
    parts=(KILLED_WITH, KILLED_SLOW_COMMIT, KILLED_SLOW_FLUSH),
    expected=expect(
        VerdictKind.CONFIRMED,
        "what was not committed is in the process alone; what was committed is the kernel's",
        COMMIT,
    ),
    summary="A killed broker with the pool had lost {killed with the pool} acknowledged messages, "
    "{killed with a slow commit} with a slow commit, and {killed with a slow flush} with a slow flush: the boundary is the "
    "commit to the page cache, not the disk.",
)

POOL_06 = Claim(
    id="POOL-06",
    article="A1",
    says="Without the pool, the page cache is written to disk even when the broker goes down. First reading: its process "
    "dies.",
    reading="After kill -9 of a broker without the pool, no acknowledged message is absent from its store.",
    parts=(KILLED_WITHOUT,),
    expected=expect(
        VerdictKind.CONFIRMED,
        "an append writes to the mapped file, whose pages are the kernel's and outlive the process",
        "org.apache.rocketmq.store.MappedFile.appendMessagesInner (in 5.x of logfile.DefaultMappedFile)",
    ),
    summary="After kill -9 without the pool {killed without the pool} acknowledged messages were absent.",
)

POOL_07 = Claim(
    id="POOL-07",
    article="A1",
    says="Without the pool, the page cache is written to disk even when the broker goes down. Second reading: the whole "
    "machine goes down.",
    reading="After a power loss of a broker without the pool, with the default asynchronous flush, no acknowledged message "
    "is absent from its store. The control: with synchronous flush none is.",
    parts=(
        _part("without power", "incident-powerless", "<=", 1.5, NONE_EXPECTED),
        _part("without power, synchronous flush", "fix-powerless-sync-flush", "<=", 1.5, NONE_EXPECTED),
    ),
    expected=expect(
        VerdictKind.REFUTED,
        "the default flush runs every 500 ms, and what it has not forced to disk is in memory only",
        FLUSH,
    ),
    summary="After a power loss {without power} acknowledged messages were absent with the default flush and "
    "{without power, synchronous flush} with synchronous flush.",
)


def _crash(
    name: str, what: str, fault: BrokerCrash, broker: BrokerSettings, live_conf: dict[str, str], *, deaths: int = 0
) -> Arm:
    return Arm(
        name=name, what=what, fault=fault, load=LOAD, broker=broker, live_conf=live_conf, cells=CELLS, trials=deaths
    )


PERIOD_S = 3.0
"""Of the slowest timer that decides a loss, the stretched commit; files are full after little more than half of it."""
KILL, POWER = BrokerCrash(spread_s=PERIOD_S), BrokerCrash(power=True, spread_s=PERIOD_S)

SCENARIO = Scenario(
    name="pool-loss",
    title="What a dead broker takes with it",
    article="A1, A2",
    summary="The broker's process is killed or its machine loses its power under load, with the pool and without: "
    "acknowledged messages that its store does not have afterwards.",
    topology=Topology(name="single"),
    arms=(
        Arm(
            name="baseline",
            what="No death, no pool.",
            fault=NoFault(),
            load=LOAD,
            broker=OFF,
            live_conf=DEFAULTS,
            cells=CELLS,
        ),
        _crash("incident-killed", "Kill -9 without the pool.", KILL, OFF, DEFAULTS),
        _crash("incident-killed-pool", "Kill -9 with the pool at its defaults.", KILL, ON, DEFAULTS, deaths=DEATHS),
        _crash(
            "incident-killed-pool-slow-commit",
            "The same with a commit every 3 s.",
            KILL,
            ON,
            SLOW_COMMIT,
            deaths=DEATHS,
        ),
        _crash("incident-killed-pool-slow-flush", "The same with a flush once a minute.", KILL, ON, SLOW_FLUSH),
        _crash(
            "incident-killed-pool-lone",
            "Kill -9 right after a lone message, with the pool at its defaults.",
            BrokerCrash(after_lone=True),
            ON,
            DEFAULTS,
        ),
        _crash("incident-powerless", "Power loss without the pool.", POWER, OFF_OWN_DISK, DEFAULTS),
        _crash(
            "incident-powerless-pool-slow-flush",
            "Power loss with the pool and a flush once a minute.",
            POWER,
            ON_OWN_DISK,
            SLOW_FLUSH,
            deaths=DEATHS,
        ),
        _crash(
            "fix-powerless-sync-flush",
            "Power loss without the pool, flushDiskType=SYNC_FLUSH.",
            POWER,
            SYNC_OWN_DISK,
            DEFAULTS,
        ),
    ),
    # Longer than a file lasts, so that every death finds one with a buffer.
    phases=Phases(steady_s=2.0, hold_s_min=0.1, hold_s_max=0.1, recover_s=0.1),
    claims=(BUSY_05, POOL_04, POOL_05, POOL_06, POOL_07),
    budget=TrialBudget(trials=5, deployments=1, extra_trials=3),
    quick_budget=TrialBudget(trials=3, deployments=1),
    quick_cells={"incident-killed-pool-lone": (), "incident-powerless-pool-slow-flush": ()},
    exclusive=True,
    shares_machine=True,
    hiccup_ms_max=500.0,
    extra_measures=("lost_lone_count",),
)
"""What is counted is the state at the moment of death, so that a hiccup before it moves a count and decides nothing."""
