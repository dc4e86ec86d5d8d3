"""What the values mean that a broker, a producer or a consumer is given, or that a listener returns: constants of RocketMQ's enums.

Their names are in the classes of each recorded release, which a test looks up; what is said of them is how these releases use them.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SettingValue:
    """``of`` says whose value it is, ``classes`` which enum has it, by the release's first number where they differ."""

    of: str
    classes: Mapping[str, str]
    means: str
    do: str
    settings: tuple[str, ...] = ()
    incidents: tuple[str, ...] = ()


def _both(name: str) -> Mapping[str, str]:
    return {"4": f"org.apache.rocketmq.{name}", "5": f"org.apache.rocketmq.{name}"}


ROLE, FLUSH = _both("store.config.BrokerRole"), _both("store.config.FlushDiskType")
FROM, STATUS = (
    _both("common.consumer.ConsumeFromWhere"),
    _both("client.consumer.listener.ConsumeConcurrentlyStatus"),
)
ORDERLY, LOCAL = (
    _both("client.consumer.listener.ConsumeOrderlyStatus"),
    _both("client.producer.LocalTransactionState"),
)
MODEL = {
    "4": "org.apache.rocketmq.common.protocol.heartbeat.MessageModel",
    "5": "org.apache.rocketmq.remoting.protocol.heartbeat.MessageModel",
}
A_ROLE, A_FLUSH, A_START = "brokerRole of a broker", "flushDiskType of a broker", "consumeFromWhere of a push consumer"
A_LISTENER, AN_ORDERLY = "an answer of a concurrent listener", "an answer of an orderly listener"
A_MODEL, A_LOCAL = "messageModel of a push consumer", "an answer of a TransactionListener"

SETTING_VALUES: Mapping[str, SettingValue] = {
    "ASYNC_MASTER": SettingValue(
        of=A_ROLE, classes=ROLE, settings=("brokerRole", "brokerId"), incidents=("slave-lacks-messages",),
        means="A master that answers a send once it has the message itself; its slave copies later. It is the default.",
        do="What a slave has not copied is lost with the master's disk. brokerRole=SYNC_MASTER waits for slaves.",
    ),
    "SYNC_MASTER": SettingValue(
        of=A_ROLE, classes=ROLE, settings=("brokerRole", "inSyncReplicas", "slaveTimeout"),
        incidents=("sync-master-acknowledges-alone",),
        means="A master that answers a send once slaves have the message: one on 4.6.0 and 4.9.7, inSyncReplicas "
        "minus itself on 5.3.3 and 5.5.0, where "
        "1, the default, waits for none.",
        do="On 5.3.3 and 5.5.0 set inSyncReplicas=2 as well. Without a slave, sends are answered with SLAVE_NOT_AVAILABLE or "
        "FLUSH_SLAVE_TIMEOUT then.",
    ),
    "SLAVE": SettingValue(
        of=A_ROLE, classes=ROLE, settings=("brokerRole", "brokerId", "slaveReadEnable"),
        incidents=("slave-serves-no-reads", "slave-diverged"),
        means="A copy of the master with its brokerName, which takes no sends. Its brokerId is above 0, or it does not start.",
        do="Give each slave a brokerId of its own, from 1 on; on 5.3.3 and 5.5.0 slaveReadEnable=true has it serve reads.",
    ),
    "ASYNC_FLUSH": SettingValue(
        of=A_FLUSH, classes=FLUSH, settings=("flushDiskType", "flushIntervalCommitLog"), incidents=("offset-past-the-end",),
        means="A send is answered once its message is in memory (the page cache, or the pool); the disk has it soon after. It is "
        "the default.",
        do="A power loss takes what was not flushed. flushDiskType=SYNC_FLUSH waits for the disk.",
    ),
    "SYNC_FLUSH": SettingValue(
        of=A_FLUSH, classes=FLUSH, settings=("flushDiskType", "syncFlushTimeout", "sendMessageThreadPoolNums"),
        incidents=("sync-flush-power-loss", "sync-flush-one-thread"),
        means="A send is answered once the disk has its message, or with FLUSH_DISK_TIMEOUT after syncFlushTimeout.",
        do="Look at the disk's own latency first (`iostat -x 1`): each send waits for it.",
    ),
    **dict.fromkeys(
        ("CONSUME_FROM_LAST_OFFSET", "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST", "CONSUME_FROM_MIN_OFFSET",
         "CONSUME_FROM_MAX_OFFSET"),
        SettingValue(
            of=A_START, classes=FROM, settings=("consumeFromWhere",), incidents=("last-offset-reads-history",),
            means="Where a group begins that has no offset of a queue yet: at its end, the default. Of a group that has one "
            "nothing changes. The names with MIN and MAX are old ones, and are treated as LAST_OFFSET.",
            do="A new group may read the whole history all the same: set its offset before it starts (mqadmin "
            "resetOffsetByTime).",
        ),
    ),
    "CONSUME_FROM_FIRST_OFFSET": SettingValue(
        of=A_START, classes=FROM, settings=("consumeFromWhere",), incidents=("last-offset-reads-history",),
        means="A group that has no offset of a queue yet begins with the oldest message that the broker has.",
        do="For a group that has an offset use mqadmin resetOffsetByTime.",
    ),
    "CONSUME_FROM_TIMESTAMP": SettingValue(
        of=A_START, classes=FROM, settings=("consumeFromWhere", "consumeTimestamp"), incidents=("last-offset-reads-history",),
        means="A group that has no offset of a queue yet begins with what was stored at consumeTimestamp.",
        do="For a group that has an offset use mqadmin resetOffsetByTime.",
    ),
    "CLUSTERING": SettingValue(
        of=A_MODEL, classes=MODEL, settings=("messageModel",),
        incidents=("subscriptions-that-differ", "same-client-id-in-containers"),
        means="The members of a group share the queues, each message goes to one of them, and the broker keeps the offsets. It "
        "is the default.",
        do="All members of a group have the same subscription and the same model.",
    ),
    "BROADCASTING": SettingValue(
        of=A_MODEL, classes=MODEL, settings=("messageModel",),
        means="Each member of a group gets every message and keeps the offsets in a file of its own host; nothing is tried again.",
        do="In a container keep that file (rocketmq.client.localOffsetStoreDir) on a volume; handle failures in the listener.",
    ),
    "CONSUME_SUCCESS": SettingValue(
        of=A_LISTENER, classes=STATUS, incidents=("one-message-holds-offset",),
        means="The messages are done; the group's offset of the queue moves on once all before them are done as well.",
        do="Return it after the work is done, not before.",
    ),
    "RECONSUME_LATER": SettingValue(
        of=A_LISTENER, classes=STATUS, settings=("maxReconsumeTimes",), incidents=("dead-letter", "retry-topic-flood"),
        means="The messages go back to the broker, into the group's retry topic, and come again after a growing delay; after "
        "maxReconsumeTimes, 16 by default, into the dead-letter topic (%DLQ%GROUP). null or an exception means the same.",
        do="Look for the listener's own exception in the application's log; make it idempotent, since messages come twice.",
    ),
    "SUSPEND_CURRENT_QUEUE_A_MOMENT": SettingValue(
        of=AN_ORDERLY, classes=ORDERLY, settings=("suspendCurrentQueueTimeMillis", "maxReconsumeTimes"),
        means="The queue waits for suspendCurrentQueueTimeMillis and gives the same messages again; nothing behind them is "
        "consumed meanwhile.",
        do="Set maxReconsumeTimes of an orderly consumer, so that one bad message does not hold its queue for ever.",
    ),
    "COMMIT_MESSAGE": SettingValue(
        of=A_LOCAL, classes=LOCAL, means="The transaction is done, and its message is delivered.",
        do="Return it once the local transaction is committed.", incidents=("pool-loses-transaction-commits",),
    ),
    "ROLLBACK_MESSAGE": SettingValue(
        of=A_LOCAL, classes=LOCAL, means="The transaction is undone, and its message is never delivered.",
        do="Return it once the local transaction is rolled back.",
    ),
    "UNKNOW": SettingValue(
        of=A_LOCAL, classes=LOCAL, settings=("transactionCheckInterval", "transactionCheckMax", "transactionTimeOut"),
        means="Not known yet: the broker asks the producer's group again (checkLocalTransaction), transactionCheckMax times, and "
        "drops the message then.",
        do="Have checkLocalTransaction answer from the database; the name is written without N.",
        incidents=("delete-topic-rechecks-transactions",),
    ),
}  # fmt: skip
