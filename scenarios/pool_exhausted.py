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

from harness.model.claims import Claim, Expectation, Part, Quantity, Relation, Statistic
from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import CommitStall, NoFault
from harness.model.loads import OpenLoopSends
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from harness.model.verdicts import VerdictKind
from scenarios.expectations import expect, on_4x_and_5x

FILE_MB, RATE_HZ = 1, 500
LOAD = OpenLoopSends(body_bytes=2048, readings=("free_buffers", "locked_mb", "locked_files_mb"))
DELIVERED = dataclasses.replace(LOAD, probes=("delivery",))
"""How long from a send until its message can be pulled: with the pool it has to be committed before."""
FILES = {"mappedFileSizeCommitLog": str(FILE_MB * 1024 * 1024)}
EXACTLY: tuple[tuple[str, Relation], ...] = (("free buffers", ">="), ("and no more", "<="))
TIMES: tuple[tuple[str, Relation, float], ...] = (("five over two", ">=", 2.4), ("and no more", "<=", 2.6))
POOL_OFF_BUFFERS = 2**31 - 1
STALL = {"stall_ms": 4000, "rate_hz": RATE_HZ}
CALM = {"stall_ms": 0, "rate_hz": RATE_HZ}


def _pool(size: int, **more: str) -> BrokerSettings:
    return BrokerSettings(
        conf={**FILES, "transientStorePoolEnable": "true", "transientStorePoolSize": str(size), **more}
    )


def _rejected(arm: str) -> Quantity:
    where = {"keyword": ("REJECTREQUEST",)}
    return Quantity(measure="rejected_count", arm=arm, statistic=Statistic.MEAN, where=where)


def _read(measure: str, arm: str, moment: str = "after") -> Quantity:
    return Quantity(measure=measure, arm=arm, statistic=Statistic.MEDIAN, where={"moment": (moment,)})


POOL_01 = Claim(
    id="POOL-01",
    article="A1",
    says="One switch, transientStorePoolEnable, turns the pool on.",
    reading="With transientStorePoolEnable=true and nothing else changed the broker counts its buffers (fewer than 100 are "
    "free); without it, it does not. The same switch turns it on with flushDiskType=SYNC_FLUSH.",
    parts=(
        Part(
            name="free buffers with the switch",
            quantity=_read("free_buffers", "incident-pool-5-calm"),
            relation="<=",
            bound=100.0,
            unit="buffers",
            why="The pool has five; a broker without one reports the largest integer.",
            units_min=1,
        ),
        Part(
            name="free buffers without it",
            quantity=_read("free_buffers", "baseline"),
            relation=">=",
            bound=100.0,
            unit="buffers",
            why="The control: the broker does not count buffers that it does not have.",
            units_min=1,
        ),
        Part(
            name="free buffers with synchronous flush",
            quantity=_read("free_buffers", "incident-pool-sync-flush"),
            relation="<=",
            bound=100.0,
            unit="buffers",
            why="One switch: a second setting must not turn off what it turned on.",
            units_min=1,
        ),
    ),
    expected=on_4x_and_5x(
        Expectation(
            verdict=VerdictKind.REFUTED,
            because="it also takes ASYNC_FLUSH, and a broker that is no slave",
            source="org.apache.rocketmq.store.config.MessageStoreConfig.isTransientStorePoolEnable",
        ),
        Expectation(
            verdict=VerdictKind.CONFIRMED,
            because="the switch alone decides on a master, whatever the flush",
            source="org.apache.rocketmq.store.DefaultMessageStore.isTransientStorePoolEnable",
        ),
    ),
    summary="With the switch the broker had {free buffers with the switch} free buffers, without it {free buffers without it}, "
    "and with the switch and SYNC_FLUSH {free buffers with synchronous flush}.",
)

POOL_03 = Claim(
    id="POOL-03",
    article="A1, A2",
    says="No free buffer means requests are rejected.",
    reading="A pool of five that runs out while its commit stands still for 4 s rejects requests, as do pools of one and "
    "two without any stall; a pool of five without a stall, and no pool, reject none.",
    parts=(
        Part(
            name="pool of 5, commit stalled",
            quantity=_rejected("incident-pool-5"),
            relation=">=",
            bound=50.0,
            unit="requests a stall",
            why="Three free buffers last about 3 s at a file a second; of the second that is left a tenth would do.",
            units_min=3,
        ),
        *(
            Part(
                name=f"pool of {size}, no stall",
                quantity=_rejected(f"incident-pool-{size}"),
                relation=">=",
                bound=50.0,
                unit="requests a trial",
                why="It has no free buffer from the first message on; of 200 requests in the window a quarter is no accident.",
                units_min=3,
            )
            for size in (1, 2)
        ),
        Part(
            name="pool of 5, no stall",
            quantity=_rejected("incident-pool-5-calm"),
            relation="<=",
            bound=1.5,
            unit="requests a trial",
            why="None is expected; three trials without any bound the mean below 1.3.",
            units_min=3,
        ),
        Part(
            name="no pool",
            quantity=_rejected("baseline"),
            relation="<=",
            bound=1.5,
            unit="requests a trial",
            why="None is expected; three trials without any bound the mean below 1.3.",
            units_min=3,
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "a request is rejected while the number of free buffers is zero",
        "org.apache.rocketmq.store.DefaultMessageStore.isTransientStorePoolDeficient",
    ),
    summary="A pool of five rejected {pool of 5, commit stalled} requests when its commit stood still for 4 s and "
    "{pool of 5, no stall} without; pools of one and two rejected {pool of 1, no stall} and {pool of 2, no stall} without "
    "any stall.",
)

POOL_09 = Claim(
    id="POOL-09",
    article="A1",
    says="The switch locks the commit-log files in use in memory; mapped memory may otherwise be swapped out.",
    reading="With the switch on, pages of mapped commit-log files are locked in the broker's process. (What is locked "
    "instead, the pool's own buffers, is reported beside it.)",
    parts=(
        Part(
            name="locked of mapped files",
            quantity=_read("locked_files_mb", "incident-pool-5-calm"),
            relation=">=",
            bound=0.5,
            unit="MB",
            why="Half of one commit-log file of 1 MiB, of which at least one is in use.",
            units_min=1,
        ),
        Part(
            name="locked in all",
            quantity=_read("locked_mb", "incident-pool-5-calm"),
            relation=">=",
            bound=4.9,
            unit="MB",
            why="Five buffers of 1 MiB, if memory is locked at all.",
            units_min=1,
        ),
    ),
    expected=expect(
        VerdictKind.REFUTED,
        "mlock is called on the buffers of the pool; a mapped file is locked only where it is warmed, which another switch "
        "decides",
        "org.apache.rocketmq.store.TransientStorePool.init",
    ),
    summary="With the switch {locked in all} MB of the broker were locked, of mapped commit-log files {locked of mapped files} "
    "MB: the pool's own buffers are what is locked.",
)

POOL_10 = Claim(
    id="POOL-10",
    article="A2",
    says="With the pool off the number of free buffers reads as the largest integer, so that condition never rejects.",
    reading="Without the pool the broker reports 2147483647 free buffers and rejects none.",
    parts=(
        *(
            Part(
                name=name,
                quantity=_read("free_buffers", "baseline"),
                relation=relation,
                bound=float(POOL_OFF_BUFFERS),
                unit="buffers",
                why="Java's Integer.MAX_VALUE exactly, which is what the article names.",
                units_min=1,
            )
            for name, relation in EXACTLY
        ),
        Part(
            name="rejected",
            quantity=_rejected("baseline"),
            relation="<=",
            bound=1.5,
            unit="requests a trial",
            why="None is expected; three trials without any bound the mean below 1.3.",
            units_min=3,
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "availableBufferNums (in 5.x remainTransientStoreBufferNumbs) gives Integer.MAX_VALUE while the pool is off",
        "org.apache.rocketmq.store.TransientStorePool.availableBufferNums, "
        "org.apache.rocketmq.store.DefaultMessageStore.remainTransientStoreBufferNumbs",
    ),
    summary="Without the pool the broker reported {free buffers} free buffers and rejected {rejected} requests.",
)

POOL_11 = Claim(
    id="POOL-11",
    article="A1",
    says="A buffer is as long as a commit-log file; writes are sequential, reads random.",
    reading="The memory that the pool has locked, less what a broker without it has, grows by the length of a commit-log "
    "file with every buffer: measured for pools of two and five. That reads are random needs no measurement: they begin "
    "wherever a consumer is.",
    parts=(
        *(
            Part(
                name=name,
                quantity=Quantity(
                    measure="locked_mb",
                    arm="incident-pool-5-calm",
                    statistic=Statistic.RATIO_OF_MEANS,
                    where={"moment": ("after",)},
                    against=Quantity(
                        measure="locked_mb",
                        arm="incident-pool-2",
                        statistic=Statistic.MEAN,
                        where={"moment": ("after",)},
                    ),
                ),
                relation=relation,
                bound=bound,
                unit="times",
                why="Five buffers are 2.5 times two; a page more for each that begins within one is 0.4 % of a buffer.",
                units_min=3,
            )
            for name, relation, bound in TIMES
        ),
        Part(
            name="locked by five",
            quantity=_read("locked_mb", "incident-pool-5-calm"),
            relation="<=",
            bound=5.0 * FILE_MB + 0.1,
            unit="MB",
            why="Five times a file, and a page for each buffer that does not begin with one.",
            units_min=1,
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "a buffer is allocated with the size of a commit-log file, and mlock is called on as much",
        "org.apache.rocketmq.store.TransientStorePool.init",
    ),
    summary="Five buffers had {locked by five} MB locked, {five over two} times what two had, with files of 1 MiB.",
)

SCENARIO = Scenario(
    name="pool-exhausted",
    title="The transient store pool, and when it runs out",
    article="A1, A2",
    summary="Pools of no, one, two, three and five buffers under load, with the commit to the page cache stalled and not: "
    "free buffers, locked memory, and what is rejected.",
    topology=Topology(name="single"),
    arms=(
        Arm(
            name="baseline",
            what="No pool.",
            fault=NoFault(),
            load=DELIVERED,
            broker=BrokerSettings(conf=FILES),
            cells=(CALM,),
        ),
        *(
            Arm(
                name=f"incident-pool-{size}",
                what=f"A pool of {size}, no stall.",
                fault=NoFault(),
                load=LOAD,
                broker=_pool(size),
                cells=(CALM,),
            )
            for size in (1, 2)
        ),
        Arm(
            name="incident-pool-3",
            what="A pool of 3, whose commit stands still for 4 s.",
            fault=CommitStall(),
            load=LOAD,
            broker=_pool(3),
            cells=(STALL,),
        ),
        Arm(
            name="incident-pool-5",
            what="A pool of 5, whose commit stands still for 4 s.",
            fault=CommitStall(),
            load=LOAD,
            broker=_pool(5),
            cells=(STALL,),
        ),
        Arm(
            name="incident-pool-5-calm",
            what="A pool of 5, no stall.",
            fault=NoFault(),
            load=DELIVERED,
            broker=_pool(5),
            cells=(CALM,),
        ),
        Arm(
            name="incident-pool-5-low-memlock",
            what="A pool of 5 whose process may lock 64 KiB in memory.",
            fault=NoFault(),
            load=LOAD,
            broker=dataclasses.replace(_pool(5), memlock_kb=64),
            cells=(CALM,),
        ),
        Arm(
            name="incident-pool-sync-flush",
            what="The switch and flushDiskType=SYNC_FLUSH.",
            fault=NoFault(),
            load=LOAD,
            broker=_pool(5, flushDiskType="SYNC_FLUSH"),
            cells=(CALM,),
        ),
        Arm(
            name="fix-larger-pool",
            what="A pool of 12 lasts through the same stall.",
            fault=CommitStall(),
            load=LOAD,
            broker=_pool(12),
            cells=(STALL,),
        ),
    ),
    phases=Phases(steady_s=0.5, hold_s_min=0.4, hold_s_max=0.4, recover_s=0.1),
    claims=(POOL_01, POOL_03, POOL_09, POOL_10, POOL_11),
    budget=TrialBudget(trials=5, deployments=1, extra_trials=3),
    quick_budget=TrialBudget(trials=3, deployments=1),
    quick_cells={"incident-pool-3": (), "fix-larger-pool": (), "incident-pool-5-low-memlock": ()},
    exclusive=True,
    shares_machine=True,
    hiccup_ms_max=200.0,
    extra_measures=("probe_median_ms", "probe_worst_ms", "probe_unanswered_count"),
)
"""Counts of seconds of refused requests: a hiccup of a fifth of a second is far from deciding anything."""
