"""A1, A2: the page cache itself is slow. What does the transient store pool change?

The stall is in the page cache, the same in both arms, since one inside the append method would stall the pool as well and
prove nothing: the store's file system is frozen for an exact time, which write-protects its pages, so that whoever touches
one next waits. Refusals for age are switched off (waitTimeMillsInSendQueue), since 5.3.3 dumps its threads at the first
of them, and that stops the whole broker while one of its threads waits in a page fault; two arms have the default. With
files of 1 MiB a stall outlasts those that are ready.

Then the literal thing: a neighbour writes to the same file system as fast as it can, with everything else at its default.
Where the longest append begins to grow is what page-cache-pressure searches for. And a reader takes what is in no memory any
more, as a consumer that is far behind does, from a broker whose memory is short: what it reads has to displace other pages.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from harness.model.cells import Parameters
from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import AppendWatch, ColdReads, PageCacheNeighbour, StoreFreeze
from harness.model.incident import Sign
from harness.model.loads import OpenLoopSends
from harness.model.log_events import Logged, LogPattern
from harness.model.rocketmq import PAGE_CACHE_BUSY_MS, SEND_WAIT, SEND_WAIT_MS
from harness.model.rules import Part
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import Side, claim, confirmed, control, each, fact, happens, of, ratio, refuted, side

RATE_HZ = 500
LOAD = OpenLoopSends(body_bytes=2048, readings=("write_faults",))
AGE_LIMIT, NO_AGE_LIMIT = {SEND_WAIT: f"{SEND_WAIT_MS:g}"}, {SEND_WAIT: "100000"}
POOL = {"transientStorePoolEnable": "true"}
ONE_MB = {"mappedFileSizeCommitLog": str(1024 * 1024)}
ROLLS = OpenLoopSends(body_bytes=4000)
"""Two megabytes a second. A client compresses bodies from 4096 bytes on, and these compress well."""
CALM: Parameters = {"watch_ms": 3000, "rate_hz": 4 * RATE_HZ}
"""Pages are made present, and written back, in bursts: a second of 500 sends may have none."""
STALL_MS, ROLLS_STALL_MS = 1200, 2500
FROZEN: tuple[Parameters, ...] = ({"stall_ms": STALL_MS, "rate_hz": RATE_HZ},)
READS: tuple[Parameters, ...] = tuple(
    {"readers": readers, "consecutive": 1000, "limit_mb": 32, "watch_ms": 3000, "rate_hz": 4 * RATE_HZ}
    for readers in (0, 1)
)
READER = ColdReads(pulls_hz=200, rehearsal_s_max=30)
"""12 MB a second, 32 messages at a time: in 3 s more than the broker may have in memory beyond what it has."""
NEIGHBOURS: tuple[Parameters, ...] = ({"neighbour_mb": 1024, "watch_ms": 2000, "rate_hz": RATE_HZ},)

PRESENT_HEAP = ("-XX:+AlwaysPreTouch",)
"""As the releases' own start scripts have it. The first use of each page of the heap is a fault of the thread that
allocates, which would be counted with those of its appends."""


def _own_disk(**conf: str) -> BrokerSettings:
    return BrokerSettings(store="loop-ext4", store_mb=2048, conf=conf, jvm=PRESENT_HEAP)


WITHOUT, WITH, BEYOND = _own_disk(), _own_disk(**POOL), _own_disk(**POOL, **ONE_MB)
READ, POOL_READ = "incident-reader", "fix-pool-reader"
DEFAULT, POOL_DEFAULT, ROLLING = "incident-default-wait", "fix-pool-default-wait", "incident-pool-rolls"
SURPLUS_MS = STALL_MS - PAGE_CACHE_BUSY_MS
"""A shorter hiccup makes no lock a second old that is not, and none younger that is."""
A_TENTH = side(0.01, 1, "next to none, or as many as without the pool")
ROLLED = side(
    0, 850, "none, or all that come once the ready files are full; without the pool all of 1250 are", bound=125
)


def _avoided(with_pool: str, without: str, where: str) -> Part:
    """Of the first four, all but the one for waiting too long."""
    above, below = (of("rejected_count", arm, keyword="first-four") for arm in (with_pool, without))
    return ratio(above, below, A_TENTH, slack_ms=SURPLUS_MS, scope=where)


def _by_a_reader(measure: str, arm: str, at: Side, **more: Any) -> Part:
    """Of the same sends, with a reader over without one, in one deployment."""
    return ratio(of(measure, arm, readers=1), of(measure, arm, readers=0), at, **more)


MEAN_SLACK_MS = 80.0
"""Of some thousand appends a hiccup lengthens one, and one of 20 ms, a quarter of this, their mean by 3 us."""
COLD = control(each(of("cold_share", READ), side(1, 0, "put out of memory, or as the broker left it", bound=0.9)))
SELECT, MAKES_FILE = "MappedFile.selectMappedBuffer", "AllocateMappedFileService.putRequestAndReturnMappedFile"
STORE = "org.apache.rocketmq.store"

BUSY_04 = claim(
    "BUSY-04", "A1, A2",
    "For services that are not of financial grade: transientStorePoolEnable=true effectively avoids the first four.",
    reading="With the pool a stall in the page cache has at most a tenth of the refusals with one of the first four keywords: of "
    "1200 ms, with waitTimeMillsInSendQueue at 100 s and at its default, and of 2500 ms, which outlasts the files that are ready.",
    expected=refuted("an append writes to a buffer in memory, but when its file is full it waits for the next one under the lock, "
                     "and the file system has to make that", f"{STORE}.{MAKES_FILE}"),
    parts={"1200 ms": _avoided("fix-pool", "incident", "1200 ms with waitTimeMillsInSendQueue=100000"),
           "default wait": _avoided(POOL_DEFAULT, DEFAULT, "1200 ms with waitTimeMillsInSendQueue=200"),
           "2500 ms": fact(of("rejected_count", ROLLING, keyword="first-four"), ROLLED, scope="2500 ms and files of 1 MiB")},
    summary="The pool brought the refusals of a stall of 1200 ms to {1200 ms} of what they were with "
    "waitTimeMillsInSendQueue=100000, to {default wait} with 200; those of 2500 ms, which outlasts ready files of 1 MiB, came to "
    "at most a tenth {2500 ms}.",
)  # fmt: skip

BUSY_18 = claim(
    "BUSY-18", "A1", "Even with the pool, an append over 500 ms happens now and then and deserves attention.",
    reading="With the pool the store logs an append of more than 500 ms when the commit log needs its next file while the file "
    "system stands still. The wait for a file is under the lock, but before the append to it, so that only the log has it.",
    expected=confirmed("the append that finds its file full waits, under the lock, for the next one, which the file system has to "
                       "make", f"{STORE}.{MAKES_FILE}"),
    parts={"appends over 500 ms": happens(of("slow_append_lines", ROLLING), 1, "one for each stall that outlasts the ready files",
                                          without=of("slow_append_lines", "fix-pool-calm"), noun="stalls")},
    summary="With the pool and files of 1 MiB, stalls of 2500 ms in which the commit log needed new ones had an append over 500 "
    "ms {appends over 500 ms}.",
)  # fmt: skip

BUSY_22_PARTS = {
    "faults": _by_a_reader("faults_per_append", READ, side(4, 1, "its reads displace pages, or do not")),
    "held": _by_a_reader("append_mean_ms", READ, side(4, 1, "a read of the disk, or none to wait for"), slack_ms=MEAN_SLACK_MS),
    "refused": happens(of("rejected_count", READ, keyword="any", readers=1), 100, "an append that waits for 1.2 s",
                       of("rejected_count", READ, keyword="any", readers=0), slack_ms=PAGE_CACHE_BUSY_MS),
    "waits": control(fact(of("append_longest_ms", "incident"), side(STALL_MS, 1, "as long as the stall, or no wait"))),
    "cold": COLD,
}  # fmt: skip

BUSY_22 = claim(
    "BUSY-22", "A1", "Without the pool, concurrent reads and writes of the page cache bring page faults and lock timeouts.",
    reading="Of a broker that may have 32 MiB more memory, beside a reader of what is in none: the same sends have at least twice "
    "the page faults, an append holds the lock twice as long, and one is refused. Reads are cold, and appends can wait: controls.",
    expected=refuted("a read takes no lock that an append takes: it slices the mapped file, and the thread of the pull waits for "
                     "its pages; an append's next page is new, which nobody can displace", f"{STORE}.{SELECT}", RELEASES_4X)
    | refuted("the same in another class", f"{STORE}.logfile.Default{SELECT}", RELEASES_5X),
    parts=BUSY_22_PARTS,
    summary="Beside a reader of cold data appends without the pool had {faults} times the page faults and held the lock {held} "
    "times as long, and sends were refused with waitTimeMillsInSendQueue=100000 {refused}; old data was still in memory {cold}, "
    "and appends waited for a page cache that stood still {waits}.",
)  # fmt: skip

POOL_02_PARTS = {
    "longest": ratio(of("append_longest_ms", "fix-pool"), of("append_longest_ms", "incident"),
                     side(0.01, 1, "memory's time, or the stall's"), slack_ms=SURPLUS_MS / 2),
    "beside a reader": _by_a_reader("append_mean_ms", POOL_READ, side(1, 4, "no more, or a read's wait"),
                                    slack_ms=MEAN_SLACK_MS),
    "cold": dataclasses.replace(COLD, of=of("cold_share", POOL_READ)),
}  # fmt: skip

POOL_02 = claim(
    "POOL-02", "A1", "Appends go to locked off-heap buffers, reads come from the page cache: writes and reads no longer "
    "contend, and append latency drops.",
    reading="While the page cache stands still for 1200 ms, the longest append with the pool takes at most a tenth of what it "
    "takes without; beside a reader of what is in no memory, the mean append takes less than twice what it takes without one.",
    expected=confirmed("the buffer is locked in memory, so that writing waits for nobody", f"{STORE}.TransientStorePool.init"),
    parts=POOL_02_PARTS,
    summary="While the page cache stood still for 1200 ms the longest append with the pool took {longest} times as long as "
    "without; beside a reader of cold data a mean append took {beside a reader} times as long as without one; old data was still "
    "in memory {cold}.",
)  # fmt: skip

POOL_08 = claim(
    "POOL-08", "A1", "The pool lowers page faults on the write path.",
    reading="The threads that append take at most half as many page faults with the pool, in as long a time of the same load.",
    expected=confirmed("locked memory is present before it is written to, and a new page of a mapped file is not",
                       f"{STORE}.TransientStorePool.init"),
    parts={"faults": ratio(of("append_faults", "fix-pool-calm"), of("append_faults", "baseline"), side(0, 1, "none, or as many"))},
    summary="With the pool the appends had {faults} times the page faults that they had without.",
)  # fmt: skip


def _normal_disk(settings: BrokerSettings) -> BrokerSettings:
    """With the read-ahead that most kernels give a disk."""
    return dataclasses.replace(settings, store_read_ahead_kb=128)


def _arm(name: str, what: str, broker: BrokerSettings, cells: tuple[Parameters, ...], **more: Any) -> Arm:
    usual = {"fault": StoreFreeze(), "load": LOAD, "live_conf": NO_AGE_LIMIT, "trials": 5}
    return Arm(name=name, what=what, broker=broker, cells=cells, **{**usual, **more})


SCENARIO = Scenario(
    name="page-cache-stress",
    title="The page cache is slow, with the pool and without",
    article="A1, A2",
    summary="The store's file system stands still for an exact time, or a neighbour floods it: appends, page faults and "
    "refusals with the transient store pool and without.",
    symptom="A broker's appends stand still while its file system does, or while others read or write there.",
    advice="The file system stands still at times: look at the disk and at who else writes to it.",
    cures=("BUSY-04", "POOL-02"),
    sign=Sign(
        pattern=LogPattern.FILES_LATE,
        events=(Logged.FILE_TIMEOUT, Logged.NO_FILE),
        because="commit-log files were not made within 5 s, while an append waited for them",
    ),
    topology=Topology(name="single"),
    arms=(
        _arm("baseline", "No pool, no stall; every append is stamped.", WITHOUT, (CALM,), fault=AppendWatch()),
        _arm("incident", "No pool; the page cache takes no writes.", WITHOUT, FROZEN),
        _arm(DEFAULT, "The same with waitTimeMillsInSendQueue=200, its default.", WITHOUT, FROZEN, live_conf=AGE_LIMIT),
        _arm("incident-neighbour", "No pool; a neighbour writes a file of so many mebibytes again and again.", WITHOUT, NEIGHBOURS,
             fault=PageCacheNeighbour(), trials=1),
        _arm("fix-pool", "The article's advice: transientStorePoolEnable=true under the same stall.", WITH, FROZEN),
        _arm(POOL_DEFAULT, "With the pool and the default waitTimeMillsInSendQueue.", WITH, FROZEN, live_conf=AGE_LIMIT),
        _arm("fix-pool-calm", "With the pool, no stall.", WITH, (CALM,), fault=AppendWatch()),
        _arm("fix-pool-neighbour", "With the pool, the same neighbour.", WITH, NEIGHBOURS, fault=PageCacheNeighbour(), trials=1),
        _arm(ROLLING, "With the pool and files of 1 MiB, of which a stall outlasts those that are ready.", BEYOND,
             ({"stall_ms": ROLLS_STALL_MS, "rate_hz": RATE_HZ},), load=ROLLS, trials=3),
        _arm(READ, "No pool, little memory, and a reader of messages that are in none, or none.", _normal_disk(WITHOUT), READS,
             fault=READER, trials=7),
        _arm(POOL_READ, "The same with the pool.", _normal_disk(WITH), READS, fault=READER),
    ),
    phases=Phases(steady_s=0.5, hold_s_min=0.4, hold_s_max=0.4, recover_s=0.1),
    claims=(BUSY_04, BUSY_18, BUSY_22, POOL_02, POOL_08),
    budget=TrialBudget(trials=7, deployments=7),
    quick_budget=TrialBudget(trials=3, deployments=1),
    quick_cells={"incident-neighbour": (), "fix-pool-neighbour": (), DEFAULT: (), POOL_DEFAULT: ()},
    exclusive=True,
    hiccup_ms_max=40.0,
    extra_measures=("append_longest_ms", "append_mean_ms", "append_short_share", "append_over_500_count", "cold_read_mb",
                    "cold_read_ms", "major_faults"),
)  # fmt: skip
