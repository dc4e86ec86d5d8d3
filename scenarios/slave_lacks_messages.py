"""Users: a slave is asked for offsets that it does not have (alibaba/rocketmq 395)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="slave-lacks-messages",
    title="Consumers ask a slave for what it does not have",
    symptom="After a master was lost its groups get nothing from the slave, whose broker.log fills with "
    '"PULL_OFFSET_MOVED:none correction".',
    advice='The slave had fallen behind before: see "fall behind" in the master\'s broker.log, and HAClient in the '
    "slave's store.log. Bring the master back rather than make the slave one, or what it lacks is lost. `mqadmin "
    "brokerStatus -b SLAVE` has its commitLogMaxOffset; with SYNC_MASTER, or inSyncReplicas of 2 on 5.3.3 and 5.5.0, the "
    "slave has what was acknowledged.",
    sign=Sign(
        events=(Logged.SLAVE_LACKS,),
        because="a slave does not correct a consumer's offset as a master does, and the consumer asks again",
        gap_s=300.0,
        at_least=3,
        lines=(
            "2026-11-23 14:10:29 WARN PullMessageThread_1 - PULL_OFFSET_MOVED:none correction. topic=T, groupId=g, "
            "requestOffset=9, suggestBrokerId=0",
        )
        * 3,
    ),
)
