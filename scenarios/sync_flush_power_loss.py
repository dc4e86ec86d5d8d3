"""A1: what a power loss takes of a broker without the pool, with the default flush and with flushDiskType=SYNC_FLUSH.

The power loss, the load of 1000 sends a second into eight queues and the commit-log files of 1 MiB are those of
``pool-loss``. Lost is what was acknowledged and lies beyond the end of its queue once the broker is back, which is what a
consumer misses, whether the commit log has it or not; what the log on the disk lacks is counted apart. A deployment has two
deaths: one on a fresh store and one on a store that was recovered. Queues that get little are forced to disk once a minute, so
that what becomes of them depends on their rates, on how often a file is full, and on how long ago that was: one queue of eight
may get 98 % of the sends, and files of 16 MiB last for half a minute, of which the death comes in the minute after the first
one is full. The moment of each death is drawn for itself, and what is lost by it hangs on the broker's own clocks: a machine that
is held up moves a count and decides nothing, so that repetitions may be up together.
"""

from __future__ import annotations

import dataclasses

from harness.model.cluster import BrokerSettings
from harness.model.faults import BrokerCrash, Fault, NoFault
from harness.model.loads import OpenLoopSends
from harness.model.rules import Harm, Part, Told, Weight
from harness.model.scenario import Arm, Scenario, TrialBudget
from scenarios import pool_loss
from scenarios.releases import RELEASES_4X
from scenarios.rules import claim, confirmed, control, happens, never, of, refuted

STORE = "org.apache.rocketmq.store"
DEFAULT_FLUSH, SYNC_FLUSH = "incident-default-flush", "fix-sync-flush"
BUSY, LARGE, BUSY_LARGE = (f"{SYNC_FLUSH}-{what}" for what in ("busy-queue", "large-files", "busy-queue-large-files"))
ALL_FLUSHED = "better-flush-all-queues"

ONE_BUSY = dataclasses.replace(pool_loss.LOAD, busy_queue_share=0.98)
FLUSH_ALL = {"flushConsumeQueueLeastPages": "0"}
"""Every second all queues are forced to disk, and not those alone of which two pages wait."""
LATER = BrokerCrash(power=True, spread_s=30.0)
AFTER_A_FILE = BrokerCrash(power=True, spread_s=60.0, after_roll=True)
DEATHS = 36


def _sync(**conf: str) -> BrokerSettings:
    return dataclasses.replace(pool_loss.SYNC_OWN_DISK, conf={**pool_loss.SYNC_OWN_DISK.conf, **conf})


LARGE_FILES = _sync(mappedFileSizeCommitLog=str(16 * 1024 * 1024))


def _arm(
    name: str,
    what: str,
    broker: BrokerSettings,
    fault: Fault = pool_loss.POWER,
    load: OpenLoopSends = pool_loss.LOAD,
    *,
    deaths: int = 0,
) -> Arm:
    return Arm(
        name=name,
        what=what,
        fault=fault,
        load=load,
        broker=broker,
        live_conf=pool_loss.DEFAULTS,
        cells=pool_loss.CELLS,
        trials=deaths,
    )


def _loses_nothing(arm: str, scope: str, if_false: float, because: str, measure: str = "lost_count") -> Part:
    return never(of(measure, arm), if_false, because, scope=scope, noun="deaths")


A_FILE = "A queue of eight that lost a file's part of it."
A_MINUTE = "15 s, of up to a minute until they are forced to disk, of the seven queues that get 20 messages a second."
REBUILT = (
    confirmed("a send is answered once its message was forced to disk, and recovery rebuilds the queues from there",
              f"{STORE}.CommitLog.GroupCommitService", RELEASES_4X)
    | refuted("a checkpoint written every second runs ahead of the queues on disk, so that recovery begins in too late a file",
              f"{STORE}.DefaultMessageStore.addScheduleTask and {STORE}.CommitLog.isMappedFileMatchedRecover", ("5.3.3",))
    | refuted("the checkpoint says up to where all queues were flushed, but recovery begins ten files back at most "
              "(commitLogRecoverMaxNum), of 1 MiB fewer than a queue waits for its flush once a minute",
              f"{STORE}.queue.ConsumeQueueStore.isMappedFileMatchedRecover and {STORE}.CommitLog.recoverAbnormally", ("5.5.0",))
)  # fmt: skip

POOL_12_PARTS = {
    "powerless": _loses_nothing(SYNC_FLUSH, "eight equal queues, files of 1 MiB", 100, A_FILE),
    "busy queue": _loses_nothing(BUSY, "one busy queue of eight, files of 1 MiB", 300, A_MINUTE),
    "large files": _loses_nothing(LARGE, "eight equal queues, files of 16 MiB", 100, A_FILE),
    "busy queue, large files": _loses_nothing(BUSY_LARGE, "one busy queue of eight, files of 16 MiB", 300, A_MINUTE),
    "all flushed": _loses_nothing(ALL_FLUSHED, "one busy queue, files of 1 MiB, flushConsumeQueueLeastPages=0", 300, A_MINUTE),
    "from the log": _loses_nothing(BUSY, "the commit log alone", pool_loss.HALF_A_FLUSH, "Half of the 500 ms between two flushes.",
                                   "lost_from_log_count"),
    "default flush": control(happens(of("lost_count", DEFAULT_FLUSH), pool_loss.HALF_A_FLUSH,
                                     "Half of the 500 ms between two flushes.", noun="deaths")),
}  # fmt: skip

POOL_12 = claim(
    "POOL-12", "", "With flushDiskType=SYNC_FLUSH no acknowledged message is lost in a power loss.",
    reading="By what queues have once the broker is back: eight queues of equal rates, and where one gets 98 %; with files that "
    "are full every 2 s and every 27 s; and with every queue forced to disk each second. With the default flush some are lost.",
    expected=REBUILT,
    parts=POOL_12_PARTS,
    summary="With SYNC_FLUSH and files of 1 MiB eight equal queues lost messages {powerless}, and where one got 98 % they did "
    "{busy queue}, or {all flushed} if all were flushed each second; with files of 16 MiB they did {large files} and {busy queue, "
    "large files}. The commit log lost some {from the log}; with the default flush queues did {default flush}.",
    told=Told(
        weight=Weight.LOSS, harm=Harm.FAILS,
        parts={
            "busy queue": "SYNC_FLUSH loses acknowledged messages of a queue with most sends in a power loss: {after}, "
            "{before} before"
        },
        do="flushConsumeQueueLeastPages=0, which forces all queues to disk each second", do_part="all flushed",
    ),
)  # fmt: skip

SCENARIO: Scenario = dataclasses.replace(
    pool_loss.SCENARIO,
    name="sync-flush-power-loss",
    title="A power loss with asynchronous and with synchronous flush",
    article="A1",
    summary="The machine of a broker without the transient store pool loses its power under load: acknowledged messages that its "
    "queues do not have afterwards.",
    symptom="A machine lost its power, and messages that its broker had acknowledged are gone.",
    advice="Set flushDiskType=SYNC_FLUSH and flushConsumeQueueLeastPages=0, which forces all queues to disk each "
    "second.",
    cures=("POOL-12",),
    sign=None,
    no_sign="What a power loss took is in no log: compare what producers were told was stored with what is there.",
    arms=(
        _arm("baseline", "No death, synchronous flush.", pool_loss.SYNC_OWN_DISK, NoFault()),
        _arm(DEFAULT_FLUSH, "Power loss with the default flush.", pool_loss.OFF_OWN_DISK, deaths=5),
        _arm(SYNC_FLUSH, "The same with flushDiskType=SYNC_FLUSH.", pool_loss.SYNC_OWN_DISK, deaths=40),
        _arm(BUSY, "The same where one queue gets 98 %.", pool_loss.SYNC_OWN_DISK, LATER, ONE_BUSY, deaths=DEATHS),
        _arm(LARGE, "The same as the fix with files of 16 MiB.", LARGE_FILES, AFTER_A_FILE, deaths=DEATHS),
        _arm(BUSY_LARGE, "Both: one busy queue, large files.", LARGE_FILES, AFTER_A_FILE, ONE_BUSY, deaths=DEATHS),
        _arm(
            ALL_FLUSHED,
            "Ours: the busy queue and small files, with every queue forced to disk each second.",
            _sync(**FLUSH_ALL),
            LATER,
            ONE_BUSY,
            deaths=DEATHS,
        ),
    ),
    claims=(POOL_12,),
    budget=TrialBudget(trials=20, deployments=20, extra_trials=1),
    quick_cells=dict.fromkeys((BUSY, LARGE, BUSY_LARGE, ALL_FLUSHED), ()),
    extra_measures=("lost_from_log_count",),
    repetitions_together=True,
)
