"""A1: what a power loss takes of a broker without the pool, with the default flush and with flushDiskType=SYNC_FLUSH.

The power loss, the load of 1000 sends a second into eight queues and the commit-log files of 1 MiB are those of
``pool-loss``. Lost is what was acknowledged and lies beyond the end of its queue once the broker is back, which is what a
consumer misses, whether the commit log has it or not. A deployment has two deaths: one on a fresh store and one on a
store that was recovered. Queues of different rates and files that roll rarely are not tried.
"""

from __future__ import annotations

import dataclasses

from harness.model.cluster import BrokerSettings
from harness.model.faults import NoFault
from harness.model.scenario import Arm, Scenario, TrialBudget
from scenarios import pool_loss
from scenarios.releases import RELEASES_4X
from scenarios.rules import claim, confirmed, control, happens, never, of, refuted

STORE = "org.apache.rocketmq.store"
DEFAULT_FLUSH, SYNC_FLUSH = "incident-default-flush", "fix-sync-flush"


def _arm(name: str, what: str, broker: BrokerSettings, *, deaths: int = 0) -> Arm:
    return Arm(
        name=name,
        what=what,
        fault=NoFault() if name == "baseline" else pool_loss.POWER,
        load=pool_loss.LOAD,
        broker=broker,
        live_conf=pool_loss.DEFAULTS,
        cells=pool_loss.CELLS,
        trials=deaths,
    )


REBUILT = (
    confirmed("a send is answered once its message was forced to disk, and recovery rebuilds the queues from there",
              f"{STORE}.CommitLog.GroupCommitService", RELEASES_4X)
    | refuted("a checkpoint written every second runs ahead of the queues on disk, so that recovery begins in too late a file",
              f"{STORE}.DefaultMessageStore.addScheduleTask and {STORE}.CommitLog.isMappedFileMatchedRecover", ("5.3.3",))
    | confirmed("the checkpoint says up to where all queues were flushed, and recovery begins there, ten files back at most: more "
                "than these queues have to be rebuilt of",
                f"{STORE}.queue.ConsumeQueueStore.isMappedFileMatchedRecover and {STORE}.CommitLog.recoverAbnormally", ("5.5.0",))
)  # fmt: skip
"""In 5.5.0 a queue that is flushed less often than ten files are filled (commitLogRecoverMaxNum) would not be rebuilt whole."""

POOL_12 = claim(
    "POOL-12", "A1", "With flushDiskType=SYNC_FLUSH no acknowledged message is lost in a power loss.",
    reading="Files of 1 MiB, eight queues of equal rates. The control: with the default flush the same power loss does lose some.",
    expected=REBUILT,
    parts={
        "powerless": never(of("lost_count", SYNC_FLUSH), 100, "A queue of eight that lost a file's part of it.", noun="deaths"),
        "default flush": control(happens(of("lost_count", DEFAULT_FLUSH), pool_loss.HALF_A_FLUSH,
                                         "Half of the 500 ms between two flushes.", noun="deaths")),
    },
    summary="With SYNC_FLUSH, files of 1 MiB and eight equal queues a power loss lost messages {powerless}, and with the default "
    "flush it did {default flush}.",
)  # fmt: skip

SCENARIO: Scenario = dataclasses.replace(
    pool_loss.SCENARIO,
    name="sync-flush-power-loss",
    title="A power loss with asynchronous and with synchronous flush",
    article="A1",
    summary="The machine of a broker without the transient store pool loses its power under load: acknowledged messages that its "
    "queues do not have afterwards.",
    arms=(
        _arm("baseline", "No death, synchronous flush.", pool_loss.SYNC_OWN_DISK),
        _arm(DEFAULT_FLUSH, "Power loss with the default flush.", pool_loss.OFF_OWN_DISK, deaths=5),
        _arm(SYNC_FLUSH, "The same with flushDiskType=SYNC_FLUSH.", pool_loss.SYNC_OWN_DISK, deaths=40),
    ),
    claims=(POOL_12,),
    budget=TrialBudget(trials=20, deployments=20, extra_trials=1),
    quick_cells={},
    extra_measures=(),
)
