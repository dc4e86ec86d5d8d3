"""A1, A2: what a broker that dies takes with it, with the transient store pool and without.

Two deaths: of the process (kill -9), after which the page cache is still the kernel's, and of the machine (the store's file
system is shut down without flushing its journal), after which there is what had been synced. The load is 1000 sends a
second; it ends with the death, the broker starts again on what its store has, and what was acknowledged and lies beyond
the end of its queue is counted as lost. One interval is stretched at a time, which tells the two boundaries apart: the
commit (buffer to page cache) by commitCommitLogLeastPages and ...ThoroughInterval, the flush (page cache to disk) by
flushCommitLogLeastPages and ...ThoroughInterval. Many power losses with a synchronous flush are ``sync-flush-power-loss``.
"""

from __future__ import annotations

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import BrokerCrash, CommitWatch, Fault, NoFault
from harness.model.incident import Sign
from harness.model.loads import OpenLoopSends
from harness.model.log_events import Logged, LogPattern
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import (
    claim,
    confirmed,
    control,
    fact,
    happens,
    mean,
    measured_share,
    never,
    of,
    ratio,
    refuted,
    side,
)

RATE_HZ = 1000
LOAD = OpenLoopSends(body_bytes=512, send_timeout_ms=2000)
FILES = {"mappedFileSizeCommitLog": str(1024 * 1024)}
"""Less than two seconds of the load. A broker goes on in the file that it finds at its start without the pool, whatever the switch
says; only the files after that have a buffer. With large files a broker that was killed once would lose nothing more."""
CELLS = ({"rate_hz": RATE_HZ},)

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
SYNC_OWN_DISK = BrokerSettings(store="loop-ext4", conf={**FILES, "flushDiskType": "SYNC_FLUSH"})
ON_OWN_DISK = BrokerSettings(store="loop-ext4", conf=POOL)


def _arm(
    name: str, what: str, fault: Fault, broker: BrokerSettings, live_conf: dict[str, str], *, deaths: int = 0
) -> Arm:
    return Arm(
        name=name, what=what, fault=fault, load=LOAD, broker=broker, live_conf=live_conf, cells=CELLS, trials=deaths
    )


PERIOD_S = 3.0
"""Of the slowest timer that decides a loss, the stretched commit; files are full after little more than half of it."""
KILL, POWER = BrokerCrash(spread_s=PERIOD_S), BrokerCrash(power=True, spread_s=PERIOD_S)
NO_POOL, WITH_POOL = "incident-killed", "incident-killed-pool"
SLOW_COMMITS, SLOW_FLUSHES = "incident-killed-pool-slow-commit", "incident-killed-pool-slow-flush"
POWERLESS, DEFAULT_FLUSH = "incident-powerless-pool-slow-flush", "incident-powerless"

WATCHED = "incident-watched-commits"

ARMS = (
    _arm("baseline", "No death, no pool.", NoFault(), OFF, DEFAULTS),
    Arm(
        name=WATCHED,
        what="No death; the pool at its defaults, and each of its commits is seen for 3 s.",
        fault=CommitWatch(),
        load=LOAD,
        broker=ON,
        live_conf=DEFAULTS,
        cells=({"rate_hz": RATE_HZ, "watch_ms": 3000},),
    ),
    _arm(NO_POOL, "Kill -9 without the pool.", KILL, OFF, DEFAULTS, deaths=40),
    _arm(WITH_POOL, "Kill -9 with the pool at its defaults.", KILL, ON, DEFAULTS, deaths=15),
    _arm(SLOW_COMMITS, "The same with a commit every 3 s.", KILL, ON, SLOW_COMMIT, deaths=15),
    _arm(SLOW_FLUSHES, "The same with a flush once a minute.", KILL, ON, SLOW_FLUSH),
    _arm(
        "incident-killed-pool-lone",
        "Kill -9 right after a lone message, with the pool at its defaults.",
        BrokerCrash(after_lone=True),
        ON,
        DEFAULTS,
    ),
    _arm(DEFAULT_FLUSH, "Power loss without the pool.", POWER, OFF_OWN_DISK, DEFAULTS),
    _arm(POWERLESS, "Power loss with the pool and a flush once a minute.", POWER, ON_OWN_DISK, SLOW_FLUSH, deaths=10),
    _arm(
        "fix-powerless-sync-flush",
        "Power loss without the pool, flushDiskType=SYNC_FLUSH.",
        POWER,
        SYNC_OWN_DISK,
        DEFAULTS,
    ),
)

PAGES, HALF_A_FLUSH, FILE, TRIAL = 13, 250, 800, 2500
"""Messages of 620 bytes that a death loses on average, at 1000 a second: half of 16 KiB, which is the least that is committed;
half of the 500 ms between two flushes; half of a file; all that a trial has sent."""

FULL = side(FILE, PAGES, "half of a file, or half of 16 KiB")


BUSY_05 = claim(
    "BUSY-05", "A1", "The price of the pool is possible loss of messages.",
    reading="Killed under load, a broker with the pool at its defaults has lost acknowledged messages; one without it never has.",
    expected=confirmed("a message is acknowledged when it is in the buffer, and the buffer dies with the process",
                       "org.apache.rocketmq.store.CommitLog.CommitRealTimeService"),
    parts={
        "killed with the pool": happens(of("lost_count", WITH_POOL), PAGES, "Less than 16 KiB waits in the buffer.",
                                        without=of("lost_count", NO_POOL), noun="deaths"),
        "killed without the pool": never(of("lost_count", NO_POOL), HALF_A_FLUSH, "Half of the 500 ms between two flushes.",
                                         noun="deaths"),
    }, summary="With files of 1 MiB a kill lost acknowledged messages with the pool {killed with the pool}, and without it "
    "{killed without the pool}.",
)  # fmt: skip

POOL_04_PARTS = {
    "by its timer": measured_share(of("commit_after_period_share", WATCHED),
                                   side(1, 0.02, "five a second, or one of each 16 KiB, of which 38 come", bound=0.9)),
    "slow flush": fact(of("lost_count", SLOW_FLUSHES), side(PAGES, TRIAL, "half of 16 KiB, or all that was sent")),
    "slow commit": control(mean(of("lost_count", SLOW_COMMITS), FULL, noun="deaths")),
    "without power": control(mean(of("lost_count", POWERLESS), FULL, noun="deaths")),
}  # fmt: skip

POOL_04 = claim(
    "POOL-04", "A1", "Buffers are committed to the page cache on a timer, then flushed to disk.",
    reading="At the default settings nearly each commit comes the timer's 200 ms after the one before. A kill loses what was not "
    "committed, and not what waits for a flush.",
    expected=refuted("every put wakes the thread, which commits whenever there are four pages; its timer only does the rest",
                     "org.apache.rocketmq.store.CommitLog.CommitRealTimeService"),
    parts=POOL_04_PARTS,
    summary="At 1000 messages a second {by its timer} of the commits came 150 ms after the one before, or later. A kill lost {slow "
    "commit} with a commit every 3 s; with a flush once a minute it kept what waited for it {slow flush}, and a power loss lost "
    "{without power}.",
)  # fmt: skip

POOL_05 = claim(
    "POOL-05", "A1, A2", "A broker that dies (out of memory, say) loses what had not been written to the commit log on disk yet.",
    reading="The death of its process. A slow commit loses many times what the default does, a slow flush does not: written to the "
    "file is the boundary, not synced to disk.",
    expected=confirmed("what was not committed is in the process alone; what was committed is the kernel's",
                       "org.apache.rocketmq.store.CommitLog.CommitRealTimeService"),
    parts={
        "slow commit": ratio(of("lost_count", SLOW_COMMITS), of("lost_count", WITH_POOL), side(FILE / PAGES, 1, "file over pages")),
        "slow flush": ratio(of("lost_count", SLOW_FLUSHES), of("lost_count", WITH_POOL),
                            side(1, TRIAL / PAGES, "all that was sent over half of 16 KiB, if the disk were the boundary")),
    },
    summary="With files of 1 MiB a killed broker with the pool lost {slow commit} times as much with a commit every 3 s as at the "
    "defaults, and {slow flush} times as much with a flush once a minute.",
)  # fmt: skip

POOL_06 = claim(
    "POOL-06", "A1",
    "Without the pool, the page cache is written to disk even when the broker goes down. First reading: its process dies.",
    reading="After kill -9 of a broker without the pool, no acknowledged message is absent from its store.",
    expected=confirmed("an append writes to the mapped file, whose pages are the kernel's and outlive the process",
                       "org.apache.rocketmq.store.MappedFile.appendMessagesInner", RELEASES_4X)
    | confirmed("the same, in another class", "org.apache.rocketmq.store.logfile.DefaultMappedFile.appendMessagesInner",
                RELEASES_5X),
    parts={"killed": never(of("lost_count", NO_POOL), HALF_A_FLUSH, "Half of the 500 ms between two flushes.", noun="deaths")},
    summary="Kill -9 without the pool lost acknowledged messages {killed}.",
)  # fmt: skip

POOL_07 = claim(
    "POOL-07", "A1", "Without the pool, the page cache is written to disk even when the broker goes down. Second reading: the "
    "whole machine goes down.",
    reading="After a power loss of a broker without the pool, with the default asynchronous flush, no acknowledged message is "
    "absent from the commit log on its disk, whatever its queues have.",
    expected=refuted("the default flush runs every 500 ms, and what it has not forced to disk is in memory only",
                     "org.apache.rocketmq.store.CommitLog.FlushRealTimeService"),
    parts={"powerless": never(of("lost_from_log_count", DEFAULT_FLUSH), HALF_A_FLUSH, "Half of the 500 ms between two flushes.",
                              noun="deaths")},
    summary="After a power loss with the default flush the commit log lacked acknowledged messages {powerless}.",
)  # fmt: skip

SCENARIO = Scenario(
    name="pool-loss",
    title="What a dead broker takes with it",
    article="A1, A2",
    summary="The broker's process is killed or its machine loses its power under load, with the pool and without: "
    "acknowledged messages that its store does not have afterwards.",
    symptom="A broker died and is back, and messages that it had acknowledged are gone.",
    advice="Compare what producers were told was stored with what is there; without the pool a killed process loses "
    "nothing.",
    cures=("POOL-06",),
    sign=Sign(
        pattern=LogPattern.KILLED_WITH_POOL,
        events=(Logged.KILLED,),
        because="a broker came back without having been shut down; with transientStorePoolEnable what lay in its buffers "
        "is gone",
    ),
    topology=Topology(name="single"),
    arms=ARMS,
    # Longer than a file lasts, so that every death finds one with a buffer.
    phases=Phases(steady_s=2.0, hold_s_min=0.1, hold_s_max=0.1, recover_s=0.1),
    claims=(BUSY_05, POOL_04, POOL_05, POOL_06, POOL_07),
    budget=TrialBudget(trials=5, deployments=5, extra_trials=3),
    quick_budget=TrialBudget(trials=3, deployments=1),
    quick_cells={"incident-killed-pool-lone": (), POWERLESS: (), WATCHED: ()},
    exclusive=True,
    shares_machine=True,
    hiccup_ms_max=500.0,
    extra_measures=("lost_lone_count",),
)
"""What is counted is the state at the moment of death, so that a hiccup before it moves a count and decides nothing."""
