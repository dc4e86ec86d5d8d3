"""What the codes of RocketMQ's answers mean to whoever reads one in a log or as a send's status.

Their numbers are in each release's ``ResponseCode``; what is said of them is how the brokers of the recorded releases use them
(``SendMessageProcessor``, ``PullMessageProcessor``, ``ConsumerManageProcessor`` and ``AdminBrokerProcessor``).
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class AnswerCode:
    """``settings`` decide about it, and ``incidents`` of the lab show it; ``do`` is advice that nothing measured."""

    means: str
    do: str
    settings: tuple[str, ...] = ()
    incidents: tuple[str, ...] = ()


ANSWER_CODES: Mapping[str, AnswerCode] = {
    "SUCCESS": AnswerCode(means="The request was done; of a send this is SEND_OK.", do="Nothing is to be done."),
    "SYSTEM_ERROR": AnswerCode(
        means="Something in the node threw, or its store could not make a file; the words beside the code say what.",
        do="Look in the node's broker.log and storeerror.log at the same second; a producer tries another broker by "
        "itself.",
        incidents=("map-failed", "store-not-writable"),
    ),
    "SYSTEM_BUSY": AnswerCode(
        means="The broker refused the request to protect itself: its store was slow, its pool empty, or its queue "
        "long. The message was not stored.",
        do="The word in brackets says which guard it was: `mqlab explain '[TIMEOUT_CLEAN_QUEUE]broker busy'`, and so "
        "on. Look for slow appends in store.log (`mqlab tune --rate YOURS --log store.log`).",
        settings=(
            "waitTimeMillsInSendQueue",
            "osPageCacheBusyTimeOutMills",
            "transientStorePoolSize",
            "sendThreadPoolQueueCapacity",
        ),
        incidents=("append-stall", "append-lock-over-1s", "pool-exhausted", "send-queue-full", "busy-broker-of-two"),
    ),
    "REQUEST_CODE_NOT_SUPPORTED": AnswerCode(
        means="The node does not know this kind of request: it is older than who asks, or of another kind (a proxy, a"
        " name server).",
        do="Compare the releases of both sides, and see whether the address is that of the node that was meant.",
        incidents=("rolling-upgrade",),
    ),
    "FLUSH_DISK_TIMEOUT": AnswerCode(
        means="The broker has SYNC_FLUSH and stored the message, but the disk did not confirm it in time: it is on "
        "disk soon, unless the machine dies first. As a SendStatus it is no exception, and the message is "
        "there.",
        do="Do not send it anew unless a duplicate does no harm. `iostat -x 1` shows the disk; syncFlushTimeout is "
        "how long it waits.",
        settings=("flushDiskType", "syncFlushTimeout", "retryAnotherBrokerWhenNotStoreOK"),
        incidents=("sync-flush-one-thread", "sync-flush-power-loss"),
    ),
    "SLAVE_NOT_AVAILABLE": AnswerCode(
        means="The broker is a SYNC_MASTER of 4.6.0 or 4.9.7 and stored the message, but has no slave that follows closely "
        "enough: none is connected, or it lags by more than it may. As a SendStatus it is no exception, and the message is "
        "on the master alone. A store of 5.3.3 or 5.5.0 never answers it: see FLUSH_SLAVE_TIMEOUT.",
        do="`mqadmin brokerStatus` and the slave's storeerror.log say whether it follows; until then a loss of the "
        "master loses these messages.",
        settings=("brokerRole", "haSlaveFallbehindMax", "haMaxGapNotInSync", "inSyncReplicas"),
        incidents=("slave-diverged", "sync-master-acknowledges-alone"),
    ),
    "FLUSH_SLAVE_TIMEOUT": AnswerCode(
        means="The broker is a SYNC_MASTER and stored the message, but its slave did not confirm the copy in time. As"
        " a SendStatus it is no exception, and the message is on the master. 5.3.3 and 5.5.0 answer so after slaveTimeout (3 s), "
        "whether the slave is late or gone, and with inSyncReplicas above 1 alone; with 1, the default, they wait for none. With "
        "enableSlaveActingMaster or a controller they refuse the send where too few replicas are in sync: 'in-sync replicas not "
        "enough'.",
        do="Do not send it anew unless a duplicate does no harm. Look at the slave's disk and at the network between "
        "the two. An alarm on it is still needed on 5.3.3 and 5.5.0 with inSyncReplicas above 1.",
        settings=("brokerRole", "slaveTimeout", "syncFlushTimeout", "inSyncReplicas"),
        incidents=("sync-master-acknowledges-alone", "in-sync-replicas-short", "slave-diverged"),
    ),
    "MESSAGE_ILLEGAL": AnswerCode(
        means="The broker took the message for too long, or its topic, properties or delay for what it does not take;"
        " it was not stored.",
        do="Compare the body's size with maxMessageSize of producer and broker; the words beside the code name the "
        "part.",
        settings=("maxMessageSize",),
        incidents=("message-too-long",),
    ),
    "SERVICE_NOT_AVAILABLE": AnswerCode(
        means="The broker takes no messages: its store is marked as not writable (a full disk, a file that cannot be "
        "mapped), it is shut down, or it is a slave. The message was not stored.",
        do="`df -h` of the store first, then storeerror.log for what marked it.",
        settings=("diskMaxUsedSpaceRatio", "fileReservedTime", "brokerRole"),
        incidents=("disk-is-full", "store-not-writable", "map-failed", "disk-ratio-counts-differently"),
    ),
    "NO_PERMISSION": AnswerCode(
        means="The broker or the topic does not allow it: writing or reading is switched off, the group may not "
        "consume, or access control refused the account.",
        do="`mqadmin topicRoute -t TOPIC` shows the perm of each broker (6 is both, 4 reading, 2 writing, 0 neither);"
        " with access control the words beside the code name the account.",
        settings=("brokerPermission", "aclEnable"),
        incidents=("requests-not-authorised", "acl-key-without-effect"),
    ),
    "TOPIC_NOT_EXIST": AnswerCode(
        means="The node does not know the topic; a producer tells it as 'No route info of this topic'.",
        do="Make it with `mqadmin updateTopic`, or see why its broker is not registered at the name server that was "
        "asked.",
        settings=("autoCreateTopicEnable",),
        incidents=("topic-without-route", "name-server-divergence", "name-server-restart-hides-topics"),
    ),
    "PULL_NOT_FOUND": AnswerCode(
        means="There was nothing to pull at that offset until the long poll ended. It is no fault.",
        do="Nothing is to be done, unless messages are there and none comes: then look at filters and at the offset.",
        settings=("longPollingEnable",),
        incidents=("nothing-pulled",),
    ),
    "PULL_RETRY_IMMEDIATELY": AnswerCode(
        means="What was pulled did not pass the filter, or the store moved on meanwhile: the client pulls again at "
        "once.",
        do="It is no fault. Very many of them mean a filter that keeps hardly anything.",
    ),
    "PULL_OFFSET_MOVED": AnswerCode(
        means="The offset that was asked for is not in the queue: its files were deleted, or the queue is shorter "
        "than it was. The client goes on from the queue's first or last offset.",
        do="See in the consumer's log where it went on: what lies between was skipped, or comes again.",
        settings=("fileReservedTime",),
        incidents=("offset-past-the-end", "slave-lacks-messages", "illegal-offset-again"),
    ),
    "QUERY_NOT_FOUND": AnswerCode(
        means="The broker has no offset of this group for the queue: the group is new, or its offsets are gone.",
        do="Nothing is to be done for a new group; for an old one see what became of the broker's "
        "config/consumerOffset.json.",
        incidents=("last-offset-reads-history", "recreated-topic-keeps-offsets"),
    ),
    "SUBSCRIPTION_NOT_EXIST": AnswerCode(
        means="The broker knows the group, but not that it subscribes to the topic: members that subscribe "
        "differently overwrite each other, or no heartbeat has come yet.",
        do="Give each member of the group the same topics and tags, or each its own group.",
        incidents=("subscriptions-that-differ", "restarted-broker-forgets-consumers"),
    ),
    "SUBSCRIPTION_NOT_LATEST": AnswerCode(
        means="The member's subscription is older than the one that the broker has: another member has changed it.",
        do="Give each member of the group the same topics and tags.",
        incidents=("subscriptions-that-differ",),
    ),
    "SUBSCRIPTION_GROUP_NOT_EXIST": AnswerCode(
        means="The broker does not know the group, and may not make it.",
        do="Make it with `mqadmin updateSubGroup`.",
        settings=("autoCreateSubscriptionGroup",),
        incidents=("group-never-known",),
    ),
    "CONSUMER_NOT_ONLINE": AnswerCode(
        means="No member of the group is connected to the broker that was asked.",
        do="`mqadmin consumerProgress -g GROUP` and `mqadmin consumerConnection -g GROUP` show who is.",
        incidents=("group-never-known", "restarted-broker-forgets-consumers"),
    ),
    "FLOW_CONTROL": AnswerCode(
        means="The broker refused for a limit of its own; the words beside the code name the limit.",
        do="Send or pull less at once, or raise the limit that is named.",
    ),
    "GO_AWAY": AnswerCode(
        means="The node shuts down and tells its clients to go elsewhere.", do="It is no fault where the node was to "
        "be stopped."
    ),
}  # fmt: skip
"""By the name of the code. Of others the words beside them say more than the code."""
