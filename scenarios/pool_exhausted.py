"""A1, A2: the transient store pool, its switch, its buffers, and what happens when they run out.

With the pool on, a message is appended to a buffer outside of the heap, as long as a commit-log file and locked in memory;
a thread of its own writes buffers to the page cache. A file takes a buffer when it is made, two files ahead of need, and
gives it back when all of it has been written. So a pool of one or two never has a free buffer once the first message
came, and a larger one runs out when the commit stands still for as long as the load needs to fill what is free. The
commit is stalled in its own thread, outside of the put lock (a Byteman rule), with files of 1 MiB and bodies of 2 KiB at
500 a second: a file a second.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from harness.model.cells import Parameters
from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import ColdReads, CommitStall, NoFault
from harness.model.incident import Sign
from harness.model.loads import OpenLoopSends
from harness.model.log_events import Logged, LogPattern
from harness.model.rules import Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X
from scenarios.rules import claim, confirmed, control, each, fact, never, of, ratio, refuted, side

STORE = "org.apache.rocketmq.store.DefaultMessageStore"
FILE_MB, RATE_HZ = 1, 500
LOAD = OpenLoopSends(body_bytes=2048, readings=("free_buffers", "locked_mb", "locked_files_mb"))
DELIVERED = dataclasses.replace(LOAD, probes=("delivery",))
"""How long from a send until its message can be pulled: with the pool it has to be committed before."""
FILES = {"mappedFileSizeCommitLog": str(FILE_MB * 1024 * 1024)}
STALL: Parameters = {"stall_ms": 4000, "rate_hz": RATE_HZ}
AT_RANDOM: Parameters = {"readers": 1, "consecutive": 1, "limit_mb": 0, "watch_ms": 3000, "rate_hz": RATE_HZ}
IN_SEQUENCE: Parameters = {**AT_RANDOM, "consecutive": 1000}
CALM: Parameters = {"stall_ms": 0, "rate_hz": RATE_HZ}


def _pool(size: int, **more: str) -> BrokerSettings:
    return BrokerSettings(
        conf={**FILES, "transientStorePoolEnable": "true", "transientStorePoolSize": str(size), **more}
    )


LOW_MEMLOCK = dataclasses.replace(_pool(5), memlock_kb=64)
NO_POOL, FIVE, TWO, ONE = "baseline", "incident-pool-5-calm", "incident-pool-2", "incident-pool-1"
STALLED, SYNC_FLUSH, READS = "incident-pool-5", "incident-pool-sync-flush", "incident-cold-reads"
DISK_READS_HZ = 100
"""As a hard disk, of which the articles' brokers may have had some."""
REJECTED = "REJECTREQUEST"
LARGEST_INTEGER = 2147483647
WINDOW = 200
"""Requests of the 0.4 s in which refusals are counted, and half of it in milliseconds: a median moves by a longer hiccup only."""
COUNTED = side(3, LARGEST_INTEGER, "five less two that files ahead took, or the number that stands for no pool")
LAST_SECOND = side(500, 0, "three free buffers last 3 s of the 4, or a pool that waits instead")
SOME = side(WINDOW, 0, "all requests of 0.4 s, or none")
DISK_READS = ratio(
    of("cold_disk_reads", READS, consecutive=1),
    of("cold_disk_reads", READS, consecutive=1000),
    side(10, 1, "a read of the disk for each message, or for as many as are read ahead"),
)
"""Counted where they are made. How long a pull takes says little of them: on busy cores one from memory takes 5 ms, half as
long as one of the disk, and nearly all messages in sequence come from memory, since 60 are read ahead at a time."""
FIVE_LONG = side(0, 2.5, "MB: five files of 1 MiB within 5 %, or buffers of half of one", bound=0.25)
TWO_LONG = side(0, 1, "MB: two files of 1 MiB within 5 %, or buffers of half of one", bound=0.1)
SWITCHED_ON = (
    refuted("it also takes ASYNC_FLUSH, and a broker that is no slave",
            "org.apache.rocketmq.store.config.MessageStoreConfig.isTransientStorePoolEnable", RELEASES_4X)
    | confirmed("the switch alone decides on a master, whatever the flush", f"{STORE}.isTransientStorePoolEnable", ("5.3.3",))
    | confirmed("the switch alone decides on a master that maps its files, as each does by default (writeWithoutMmap is off)",
                f"{STORE}.isTransientStorePoolEnable", ("5.5.0",))
)  # fmt: skip

POOL_01 = claim(
    "POOL-01", "A1", "One switch, transientStorePoolEnable, turns the pool on.",
    reading="With transientStorePoolEnable=true alone the broker counts its buffers, and so it does with flushDiskType=SYNC_FLUSH.",
    expected=SWITCHED_ON,
    parts={
        "the switch alone": fact(of("free_buffers", FIVE, moment="after"), COUNTED),
        "synchronous flush": fact(of("free_buffers", SYNC_FLUSH, moment="after"), COUNTED),
        "no switch": control(fact(of("free_buffers", NO_POOL, moment="after"), side(LARGEST_INTEGER, 5, "none, or one of five"))),
    },
    summary="The switch alone turned the pool on {the switch alone}; with flushDiskType=SYNC_FLUSH it did {synchronous flush}.",
    told=Told(
        weight=Weight.OTHER,
        holds="transientStorePoolEnable turns the pool on with SYNC_FLUSH too",
        fails="with SYNC_FLUSH transientStorePoolEnable does nothing",
        parts={"synchronous flush": "transientStorePoolEnable turns the pool on with SYNC_FLUSH too"},
    ),
)  # fmt: skip

POOL_03 = claim(
    "POOL-03", "A1, A2", "No free buffer means requests are rejected.",
    reading="A pool of five whose commit stands still for 4 s rejects requests, as do pools of one and two without any stall.",
    expected=confirmed("it asks for a free one", f"{STORE}.isTransientStorePoolDeficient"),
    parts={
        "pool of 5, stalled": fact(of("rejected_count", STALLED, keyword=REJECTED), LAST_SECOND),
        "pool of 1": fact(of("rejected_count", ONE, keyword=REJECTED), SOME),
        "pool of 2": fact(of("rejected_count", TWO, keyword=REJECTED), SOME),
        "pool of 5": control(never(of("rejected_count", FIVE, keyword=REJECTED), WINDOW, "All requests of 0.4 s.")),
        "no pool": control(never(of("rejected_count", NO_POOL, keyword=REJECTED), WINDOW, "All requests of 0.4 s.")),
    },
    summary="With files of 1 MiB requests were rejected by a pool of five whose commit stood still for 4 s {pool of 5, stalled}, "
    "by a pool of one without any stall {pool of 1}, and by a pool of two {pool of 2}.",
)  # fmt: skip

POOL_09 = claim(
    "POOL-09", "A1", "The switch locks the commit-log files in use in memory; mapped memory may otherwise be swapped out.",
    reading="With the switch on, pages of mapped commit-log files are locked in the broker's process. The control is that "
    "something is locked at all, which is the pool's own buffers.",
    expected=refuted("mlock is called on the buffers of the pool; a mapped file is locked only where it is warmed, which another "
                     "switch decides", "org.apache.rocketmq.store.TransientStorePool.init"),
    parts={
        "mapped files": fact(of("locked_files_mb", FIVE, moment="after"), side(1, 0, "a commit-log file is in use at least")),
        "buffers": control(fact(of("locked_mb", FIVE, moment="after"), side(5, 0, "five buffers of 1 MiB"))),
    },
    summary="With the switch memory was locked {buffers}, and that of mapped commit-log files was {mapped files}.",
)  # fmt: skip

POOL_10 = claim(
    "POOL-10", "A2", "With the pool off the number of free buffers reads as the largest integer, so that condition never rejects.",
    reading="Without the pool the broker reports 2147483647 free buffers, to the last digit, and rejects none.",
    expected=confirmed("availableBufferNums (in 5.x remainTransientStoreBufferNumbs) gives Integer.MAX_VALUE while the pool is off",
                       "org.apache.rocketmq.store.TransientStorePool.availableBufferNums, "
                       f"{STORE}.remainTransientStoreBufferNumbs"),
    parts={
        "largest integer": fact(of("free_buffers", NO_POOL, moment="after"), predicted=LARGEST_INTEGER,
                                at=side(0, LARGEST_INTEGER, "exactly that, or none", bound=0)),
        "none rejected": fact(of("rejected_count", NO_POOL, keyword=REJECTED), side(0, WINDOW, "none, or all of 0.4 s")),
    },
    summary="Without the pool 2,147,483,647 free buffers were reported {largest integer}, and requests rejected {!none rejected}.",
)  # fmt: skip

POOL_11_PARTS = {
    "five": fact(of("locked_mb", FIVE, moment="after"), FIVE_LONG, predicted=5),
    "two": fact(of("locked_mb", TWO, moment="after"), TWO_LONG, predicted=2),
    "disk reads": DISK_READS,
    "cold": control(each(of("cold_share", READS), side(1, 0, "put out of memory, or as the broker left it", bound=0.9))),
}  # fmt: skip

POOL_11 = claim(
    "POOL-11", "A1", "A buffer is as long as a commit-log file; writes are sequential, reads random.",
    reading="The memory that pools of two and of five have locked is that of as many commit-log files of 1 MiB: bytes, which no "
    "sample is needed for. Messages that are in no memory take more reads of the disk each at random places than in sequence.",
    expected=confirmed("a buffer is allocated with the size of a commit-log file, and mlock is called on as much; a read is of the "
                       "mapped file (CommitLog.getMessage), whose pages the kernel reads ahead in sequence",
                       "org.apache.rocketmq.store.TransientStorePool.init"),
    parts=POOL_11_PARTS,
    summary="Five buffers had five files of 1 MiB locked {five}, and two had two {two}; a message at a "
    "random place took {disk reads} times as many reads of the disk as one in sequence; old data was still in memory {cold}.",
)  # fmt: skip


def _arm(name: str, what: str, broker: BrokerSettings, cell: Parameters = CALM, **more: Any) -> Arm:
    fault = CommitStall() if cell is STALL else NoFault()
    return Arm(
        name=name, what=what, broker=broker, cells=(cell,), **{"fault": fault, "load": LOAD, "trials": 2, **more}
    )


SCENARIO = Scenario(
    name="pool-exhausted",
    title="The transient store pool, and when it runs out",
    article="A1, A2",
    summary="Pools of no, one, two, three and five buffers under load, with the commit to the page cache stalled and not: "
    "free buffers, locked memory, and what is rejected.",
    symptom="With transientStorePoolEnable=true a broker answers [REJECTREQUEST]system busy, and its appends are fast.",
    advice="A larger transientStorePoolSize; one or two buffers are never enough.",
    cures=("POOL-03",),
    sign=Sign(
        pattern=LogPattern.POOL_EXHAUSTED,
        events=(Logged.POOL_LOW, Logged.POOL_EMPTY),
        because="the transient store pool ran short; without a free buffer every send is refused ([REJECTREQUEST])",
    ),
    topology=Topology(name="single"),
    arms=(
        _arm(NO_POOL, "No pool.", BrokerSettings(conf=FILES), load=DELIVERED),
        _arm(ONE, "A pool of 1, no stall.", _pool(1)),
        _arm(TWO, "A pool of 2, no stall.", _pool(2)),
        _arm("incident-pool-3", "A pool of 3, whose commit stands still for 4 s.", _pool(3), STALL, trials=1),
        _arm(STALLED, "A pool of 5, whose commit stands still for 4 s.", _pool(5), STALL),
        _arm(FIVE, "A pool of 5, no stall.", _pool(5), load=DELIVERED),
        _arm(
            "incident-pool-5-low-memlock", "A pool of 5 whose process may lock 64 KiB in memory.", LOW_MEMLOCK, trials=1
        ),
        _arm(SYNC_FLUSH, "The switch and flushDiskType=SYNC_FLUSH.", _pool(5, flushDiskType="SYNC_FLUSH")),
        _arm("fix-larger-pool", "A pool of 12 lasts through the same stall.", _pool(12), STALL, trials=1),
        Arm(
            name=READS,
            what="Messages that are in no memory, one at a time, from a disk that can be read 100 times a second.",
            fault=ColdReads(at_once=1, disk_reads_hz=DISK_READS_HZ),
            load=LOAD,
            broker=BrokerSettings(store="loop-ext4", store_read_ahead_kb=128),
            cells=(AT_RANDOM, IN_SEQUENCE),
        ),
    ),
    phases=Phases(steady_s=0.5, hold_s_min=0.4, hold_s_max=0.4, recover_s=0.1),
    claims=(POOL_01, POOL_03, POOL_09, POOL_10, POOL_11),
    budget=TrialBudget(trials=5, deployments=5),
    quick_budget=TrialBudget(trials=1, deployments=1),
    quick_cells={"incident-pool-3": (), "fix-larger-pool": (), "incident-pool-5-low-memlock": ()},
    exclusive=True,
    shares_machine=True,
    hiccup_ms_max=200.0,
    extra_measures=("probe_median_ms", "probe_worst_ms", "probe_unanswered_count", "cold_read_mb", "major_faults"),
)
"""Counts of seconds of refused requests: a hiccup of a fifth of a second is far from deciding anything."""
