"""Users: a slave copies nothing, since its commit log is not its master's (apache/rocketmq 323, 3388)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="slave-diverged",
    title="A slave does not copy: its commit log ends elsewhere than its master's",
    symptom='A slave falls behind for ever; its store.log has "master pushed offset not equal the max phy offset in '
    'slave" every five seconds.',
    threads=("issues/323", "issues/3388"),
    advice="Its commit log is of another history, as after a disk was swapped, a master lost what the slave had, or "
    "the slave was off for longer than fileReservedTime. Stop the slave, move its store away (commitlog, "
    'consumequeue, index, config, checkpoint, abort), start it, and see `mqadmin haStatus` or "fall behind" in '
    "the master's broker.log go to 0. Until then there is one copy: a SYNC_MASTER of 4.6.0 or 4.9.7 answers "
    "SLAVE_NOT_AVAILABLE, one of 5.3.3 or 5.5.0 answers SEND_OK, or FLUSH_SLAVE_TIMEOUT with inSyncReplicas above 1.",
    sign=Sign(
        events=(Logged.HA_DIVERGED,),
        because="a slave that gets what does not follow its own last byte closes the connection, and asks for the "
        "same again",
        gap_s=300.0,
        at_least=2,
        lines=(
            "2026-11-23 14:10:29 ERROR HAClient - master pushed offset not equal the max phy offset in slave, "
            "SLAVE: 10 MASTER: 20",
        )
        * 2,
    ),
)
