"""Users: a master refuses sends with "in-sync replicas not enough", since fewer replicas follow than its settings ask for."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="in-sync-replicas-short",
    title="A master refuses sends, since too few replicas are in sync",
    symptom='Sends fail with "CODE: 1 DESC: in-sync replicas not enough", though the master runs.',
    advice="See which replica is away or more than haMaxGapNotInSync behind: `mqadmin haStatus -n NAMESRV -b ADDRESS`, with a "
    "controller `mqadmin getSyncStateSet -a CONTROLLER -b BROKERNAME`. Bring it back; nothing of these sends was stored. "
    "Fewer replicas are asked for with a smaller inSyncReplicas (with enableSlaveActingMaster), with "
    "enableAutoInSyncReplicas, which goes down to minInSyncReplicas, or with a smaller minInSyncReplicas (with a "
    "controller): then what is acknowledged has fewer copies. A SYNC_MASTER with neither enableSlaveActingMaster nor a "
    "controller answers FLUSH_SLAVE_TIMEOUT instead.",
    sign=Sign(
        events=(Logged.IN_SYNC_SHORT,),
        because="before a SYNC_MASTER stores a message it counts the replicas that are in sync, itself among them: with "
        "enableSlaveActingMaster it needs inSyncReplicas, with a controller minInSyncReplicas (CommitLog.asyncPutMessage of 5.3.3 "
        "and 5.5.0)",
        against="a DLedger group answers so, too, where its members did not confirm a message in time",
        lines=(
            "org.apache.rocketmq.client.exception.MQBrokerException: CODE: 1 DESC: in-sync replicas not enough BROKER: "
            "10.0.0.1:10911",
        ),
    ),
)
