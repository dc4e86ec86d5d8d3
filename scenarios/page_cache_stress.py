"""A1, A2: the page cache itself is slow. What does the transient store pool change?

The stall is in the page cache, the same in both arms, since one inside the append method would stall the pool as well and
prove nothing: the store's file system is frozen for an exact time, which write-protects its pages, so that whoever touches
one next waits. Refusals for age are switched off (waitTimeMillsInSendQueue), since 5.3.3 dumps its threads at the first
of them, and that stops the whole broker while one of its threads waits in a page fault.

Then the literal thing: a neighbour writes to the same file system as fast as it can, with everything else at its default.
Where the longest append begins to grow is what page-cache-pressure searches for.
"""

from __future__ import annotations

from harness.model.cells import Parameters
from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import AppendWatch, PageCacheNeighbour, StoreFreeze
from harness.model.loads import OpenLoopSends
from harness.model.rocketmq import SEND_WAIT
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.claims import (
    CONFIRMED,
    claim,
    expect,
    mean,
    median,
    of,
    ratio,
)

RATE_HZ = 500
LOAD = OpenLoopSends(body_bytes=2048, readings=("write_faults",))
NO_AGE_LIMIT = {SEND_WAIT: "100000"}
POOL = {"transientStorePoolEnable": "true"}
ONE_MB = {"mappedFileSizeCommitLog": str(1024 * 1024)}
ROLLS = OpenLoopSends(body_bytes=4000)
"""Two megabytes a second. A client compresses bodies from 4096 bytes on, and these compress well."""
CALM: Parameters = {"watch_ms": 3000, "rate_hz": 4 * RATE_HZ}
"""Pages are made present, and written back, in bursts: a second of 500 sends may have none."""
FROZEN: tuple[Parameters, ...] = tuple({"stall_ms": stall_ms, "rate_hz": RATE_HZ} for stall_ms in (1200,))
ROLLS_STALL_MS = 2500
NEIGHBOURS: tuple[Parameters, ...] = tuple(
    {"neighbour_mb": neighbour_mb, "watch_ms": 2000, "rate_hz": RATE_HZ} for neighbour_mb in (1024,)
)


PRESENT_HEAP = ("-XX:+AlwaysPreTouch",)
"""As the releases' own start scripts have it. The first use of each page of the heap is a fault of the thread that
allocates, which would be counted with those of its appends."""


def _own_disk(**conf: str) -> BrokerSettings:
    return BrokerSettings(store="loop-ext4", store_mb=2048, conf=conf, jvm=PRESENT_HEAP)


BUSY_04 = claim(
    "BUSY-04", "A1, A2",
    "For services that are not of financial grade: transientStorePoolEnable=true effectively avoids the first four.",
    reading="A stall of 1200 ms in the page cache makes the broker refuse sends for a busy page cache without the pool, and at "
    "most a tenth as many with it.",
    expected=expect(
        CONFIRMED, "with the pool an append writes to a buffer that is locked in memory, and only the thread that commits it "
        "touches the page cache", "org.apache.rocketmq.store.MappedFile.appendMessagesInner (in 5.x of logfile.DefaultMappedFile)"
    ),
    parts={
        "refused without the pool": mean(
            of("rejected_count", "incident", keyword="page-cache", stall_ms=1200), ">=", 10.0, "requests a stall",
            "200 ms of arrivals at 500 a second meet a busy page cache; a tenth is more than chance.", units_min=3),
        "with the pool over without": ratio(
            of("rejected_count", "fix-pool", keyword="page-cache", stall_ms=1200),
            of("rejected_count", "incident", keyword="page-cache", stall_ms=1200), "<=", 0.1, "of the refusals",
            "Effectively avoided: nine of ten are gone.", units_min=3),
    },
    summary="A stall of 1200 ms in the page cache had {refused without the pool} sends refused without the pool, and with it "
    "{with the pool over without} of that.",
)  # fmt: skip

BUSY_18 = claim(
    "BUSY-18", "A1", "Even with the pool, an append over 500 ms happens now and then and deserves attention.",
    reading="With the pool, the store logs an append of more than 500 ms when the commit log needs its next file while the file "
    "system stands still (files of 1 MiB, two of them a second, a stall of 2500 ms). The wait for a file is under the lock, but "
    "before the append to it, so that only the log has it.",
    expected=expect(
        CONFIRMED,
        "the append that finds its file full waits, under the lock, for the next one, which the file system has to make",
        "org.apache.rocketmq.store.AllocateMappedFileService.putRequestAndReturnMappedFile"
    ),
    parts={
        "appends over 500 ms": mean(
            of("slow_append_lines", "incident-pool-rolls", stall_ms=2500), ">=", 0.6, "a stall",
            "It is one append for each stall, if it happens at all; in most stalls is enough to deserve attention.", units_min=3),
    },
    summary="With the pool, a stall of 2500 ms in which the commit log needed new files had {appends over 500 ms} appends over "
    "500 ms.",
)  # fmt: skip

BUSY_22 = claim(
    "BUSY-22", "A1", "Without the pool, concurrent reads and writes of the page cache bring page faults and lock timeouts.",
    reading="Without the pool, the threads that append take page faults (at least one for ten appends of 2 KiB), and when the "
    "page cache stands still for 1200 ms an append holds the lock for as long and sends are refused for it.",
    expected=expect(
        CONFIRMED, "an append writes to the mapped file itself, under the lock",
        "org.apache.rocketmq.store.MappedFile.appendMessagesInner (in 5.x of logfile.DefaultMappedFile)"
    ),
    parts={
        "page faults of an append": median(
            of("faults_per_append", "baseline"), ">=", 0.1, "faults",
            "Every second append of 2 KiB begins a page of 4 KiB; a fifth of that.", units_min=3),
        "longest append": median(
            of("append_longest_ms", "incident", stall_ms=1200), ">=", 1000.0, "ms",
            "The age at which the lock counts as timed out (osPageCacheBusyTimeOutMills).", units_min=3),
        "refused without the pool": mean(
            of("rejected_count", "incident", keyword="page-cache", stall_ms=1200), ">=", 10.0, "requests a stall",
            "200 ms of arrivals at 500 a second meet a busy page cache; a tenth is more than chance.", units_min=3),
    },
    summary="Without the pool an append had {page faults of an append} page faults; with the page cache standing still for 1200 "
    "ms the longest one took {longest append} ms, and {refused without the pool} sends were refused.",
)  # fmt: skip

POOL_02 = claim(
    "POOL-02", "A1", "Appends go to locked off-heap buffers, reads come from the page cache: writes and reads no longer "
    "contend, and append latency drops.",
    reading="While the page cache stands still for 1200 ms, the longest append with the pool takes at most a tenth of what it "
    "takes without.",
    expected=expect(
        CONFIRMED, "the buffer is locked in memory, so that writing to it waits for nobody",
        "org.apache.rocketmq.store.TransientStorePool.init"
    ),
    parts={
        "longest append with the pool over without": ratio(
            of("append_longest_ms", "fix-pool", stall_ms=1200), of("append_longest_ms", "incident", stall_ms=1200), "<=", 0.1,
            "of its length", "A tenth of the stall is 120 ms, below every limit that the broker has.", units_min=3),
        "longest append with the pool": median(
            of("append_longest_ms", "fix-pool", stall_ms=1200), "<=", 200.0, "ms",
            "Shorter than the age at which a waiting request would be refused.", units_min=3),
    },
    summary="With the page cache standing still for 1200 ms, the longest append took {longest append with the pool} ms with the "
    "pool, {longest append with the pool over without} of what it took without.",
)  # fmt: skip

POOL_08 = claim(
    "POOL-08", "A1", "The pool lowers page faults on the write path.",
    reading="The threads that append take at most half as many page faults with the pool, in as long a time of the same load.",
    expected=expect(
        CONFIRMED, "locked memory is present before it is written to, and a new page of a mapped file is not",
        "org.apache.rocketmq.store.TransientStorePool.init"
    ),
    parts={
        "with the pool over without": ratio(
            of("append_faults", "fix-pool-calm"), of("append_faults", "baseline"), "<=", 0.5, "of the faults",
            "Half is a reduction that no accident of the machine brings about.", units_min=3),
    },
    summary="With the pool the appends had {with the pool over without} of the page faults that they had without.",
)  # fmt: skip

SCENARIO = Scenario(
    name="page-cache-stress",
    title="The page cache is slow, with the pool and without",
    article="A1, A2",
    summary="The store's file system stands still for an exact time, or a neighbour floods it: appends, page faults and "
    "refusals with the transient store pool and without.",
    topology=Topology(name="single"),
    arms=(
        Arm(
            name="baseline",
            what="No pool, no stall; every append is stamped.",
            fault=AppendWatch(),
            load=LOAD,
            broker=_own_disk(),
            live_conf=NO_AGE_LIMIT,
            cells=(CALM,),
        ),
        Arm(
            name="incident",
            what="No pool; the page cache takes no writes.",
            fault=StoreFreeze(),
            load=LOAD,
            broker=_own_disk(),
            live_conf=NO_AGE_LIMIT,
            cells=FROZEN,
        ),
        Arm(
            name="incident-neighbour",
            what="No pool; a neighbour writes a file of so many mebibytes again and again.",
            fault=PageCacheNeighbour(),
            load=LOAD,
            broker=_own_disk(),
            live_conf=NO_AGE_LIMIT,
            cells=NEIGHBOURS,
        ),
        Arm(
            name="fix-pool",
            what="The article's advice: transientStorePoolEnable=true under the same stall.",
            fault=StoreFreeze(),
            load=LOAD,
            broker=_own_disk(**POOL),
            live_conf=NO_AGE_LIMIT,
            cells=FROZEN,
        ),
        Arm(
            name="fix-pool-calm",
            what="With the pool, no stall.",
            fault=AppendWatch(),
            load=LOAD,
            broker=_own_disk(**POOL),
            live_conf=NO_AGE_LIMIT,
            cells=(CALM,),
        ),
        Arm(
            name="fix-pool-neighbour",
            what="With the pool, the same neighbour.",
            fault=PageCacheNeighbour(),
            load=LOAD,
            broker=_own_disk(**POOL),
            live_conf=NO_AGE_LIMIT,
            cells=NEIGHBOURS[-1:],
        ),
        Arm(
            name="incident-pool-rolls",
            what="With the pool and files of 1 MiB, of which a stall outlasts those that are ready.",
            fault=StoreFreeze(),
            load=ROLLS,
            broker=_own_disk(**POOL, **ONE_MB),
            live_conf=NO_AGE_LIMIT,
            cells=({"stall_ms": ROLLS_STALL_MS, "rate_hz": RATE_HZ},),
        ),
    ),
    phases=Phases(steady_s=0.5, hold_s_min=0.4, hold_s_max=0.4, recover_s=0.1),
    claims=(BUSY_04, BUSY_18, BUSY_22, POOL_02, POOL_08),
    budget=TrialBudget(trials=5, deployments=1, extra_trials=3),
    quick_budget=TrialBudget(trials=3, deployments=1),
    quick_cells={"incident-neighbour": (), "fix-pool-neighbour": ()},
    exclusive=True,
    hiccup_ms_max=40.0,
    extra_measures=("append_longest_ms", "append_mean_ms", "append_short_share", "append_over_500_count"),
)
"""A hiccup of 40 ms moves a count at 500 sends a second by 20 requests, less than the smallest effect that is judged."""
