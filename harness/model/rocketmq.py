"""RocketMQ's own facts that more than one module needs: defaults, topic prefixes, keywords of refusals, codes.

Each names the class that it was read from. Where a docstring says nothing else, it holds for each release that is known.
"""

import re

# --- the send queue and the page cache ----------------------------------------------------------------------------------

SEND_WAIT = "waitTimeMillsInSendQueue"
SEND_WAIT_MS = 200.0
"""The age at which a request in the send queue is refused (org.apache.rocketmq.common.BrokerConfig)."""

PAGE_CACHE_BUSY = "osPageCacheBusyTimeOutMills"
PAGE_CACHE_BUSY_MS = 1000.0
"""The age of the put lock at which the page cache counts as busy (org.apache.rocketmq.store.config.MessageStoreConfig)."""

REJECTREQUEST = "REJECTREQUEST"
"""Refused before it is queued: NettyRemotingAbstract, when SendMessageProcessor rejects requests."""
OVERLOAD = "OVERLOAD"
"""Refused before it is queued: NettyRemotingAbstract, when the queue of the request's thread pool is full."""
PC_SYNCHRONIZED = "PC_SYNCHRONIZED"
"""Refused by the store: SendMessageProcessor, on ``OS_PAGECACHE_BUSY``."""
PCBUSY_CLEAN_QUEUE = "PCBUSY_CLEAN_QUEUE"
"""Refused while queued, since the page cache is busy: BrokerFastFailure."""
TIMEOUT_CLEAN_QUEUE = "TIMEOUT_CLEAN_QUEUE"
"""Refused while queued, for its age: BrokerFastFailure."""
BUSY_KEYWORDS = (REJECTREQUEST, OVERLOAD, PC_SYNCHRONIZED, PCBUSY_CLEAN_QUEUE, TIMEOUT_CLEAN_QUEUE)
"""What a refusal's remark begins with, in brackets."""

FLUSH_SLAVE, NO_SLAVE = "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE"
STORED_UNSURE = ("FLUSH_DISK_TIMEOUT", FLUSH_SLAVE, NO_SLAVE)
"""A send's statuses but SEND_OK: its master has stored the message, but not yet on its disk or on a slave, as its settings
ask for (org.apache.rocketmq.client.producer.SendStatus)."""

ILLEGAL_QUEUE = "] is illegal, "
"""In the answer to a send whose queue is beyond the topic's numbers: "request queueId[7] is illegal, TopicConfig ..."
(org.apache.rocketmq.broker.processor.AbstractSendMessageProcessor.msgCheck)."""

POOL_BUSY = "too many requests and system thread pool busy"
"""What NettyRemotingAbstract logs when a pool takes no request, at most in one millisecond of each 10 s."""

# --- queue locks of ordered consumers -----------------------------------------------------------------------------------

LOCK_LIFE = "rocketmq.broker.rebalance.lockMaxLiveTime"
LOCK_LIFE_MS = 60_000.0
"""A property of the broker's JVM: how long a queue's lock lives without being renewed
(org.apache.rocketmq.broker.client.rebalance.RebalanceLockManager)."""

LOCK_INTERVAL = "rocketmq.client.rebalance.lockInterval"
LOCK_INTERVAL_MS = 20_000.0
"""A property of the client's JVM: how often it renews its locks (org.apache.rocketmq.client.impl.consumer.ProcessQueue)."""

CLIENT_LOCK_LIFE = "rocketmq.client.rebalance.lockMaxLiveTime"
"""A property of the client's JVM: for how long after its renewal it consumes by a lock (ProcessQueue; 30 s)."""

# --- topics -------------------------------------------------------------------------------------------------------------

RETRY_PREFIX = "%RETRY%"
"""``RETRY_GROUP_TOPIC_PREFIX`` of org.apache.rocketmq.common.MixAll."""
DEAD_LETTER_PREFIX = "%DLQ%"
"""``DLQ_GROUP_TOPIC_PREFIX`` of org.apache.rocketmq.common.MixAll."""
DEFAULT_TOPIC = "TBW102"
"""The topic that others are created after (``AUTO_CREATE_TOPIC_KEY_TOPIC`` of MixAll in 4.6.0, of TopicValidator since)."""
SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX"
"""Whose queues are the delay levels, from level 1 on."""
HALF_TOPIC, OP_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC"
"""Half messages of transactions, and what ended these (MixAll of 4.6.0, TopicValidator since): one queue each."""
SELF_TEST_TOPIC = "SELF_TEST_TOPIC"
"""A topic that each broker has by itself, with one queue to write to and to read (TopicConfigManager's own ones)."""
SYSTEM_TOPICS = frozenset(
    {DEFAULT_TOPIC, "AUTO_CREATE_TOPIC_KEY", SELF_TEST_TOPIC, "BenchmarkTest", "OFFSET_MOVED_EVENT"}
    | {SCHEDULE_TOPIC, "TRANS_CHECK_MAX_TIME_TOPIC", HALF_TOPIC, "DefaultHeartBeatSyncerTopic"}
)
"""Topics that RocketMQ itself makes: ``MixAll`` of 4.6.0, ``TopicValidator`` of 4.9.7 and 5.x; the last one is a proxy's."""
SYSTEM_GROUP_PREFIXES = (
    "CID_RMQ_SYS_",
    "CID_ONSAPI_",
    "CID_ONS-HTTP-PROXY",
    "TOOLS_CONSUMER",
    "FILTERSRV_CONSUMER",
    "SELF_TEST",
)
"""What the names of the consumer groups begin with that RocketMQ itself has (``MixAll``)."""
PERM_WRITE, PERM_READ, PERM_READ_WRITE = 2, 4, 6
"""``PERM_WRITE``, ``PERM_READ`` and both of org.apache.rocketmq.common.constant.PermName."""
BROKER_PERMISSION = "brokerPermission"
"""What a broker itself may be used for (org.apache.rocketmq.common.BrokerConfig)."""

DELAY_LEVELS = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
"""``messageDelayLevel`` of org.apache.rocketmq.store.config.MessageStoreConfig."""
_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def delays_s(levels: str = DELAY_LEVELS) -> list[float]:
    """What each level waits for, from level 1 on: ``"1s 5m"`` is 1 and 300 seconds."""
    return [float(word[:-1]) * _UNITS_S[word[-1]] for word in levels.split()]


DELAY_OFFSETS = "flushDelayOffsetInterval"
DELAY_OFFSETS_MS = 10_000.0
"""How often a broker writes how far its delay levels are (MessageStoreConfig)."""

CHECKS_GROUP = "CID_RMQ_SYS_TRANS"
"""By whose offsets a broker keeps how far its checks of both are (``MixAll.CID_SYS_RMQ_TRANS``)."""
CHECKS = "transactionCheckInterval"
CHECKS_S_MAX = 60.0
"""How often a broker of 4.x looks for transactions to ask about, in seconds; 5.x does every 30 s (BrokerConfig)."""
CHECKS_MAX = 15
"""One that is still undecided when it was asked about so often is given up (``transactionCheckMax`` of BrokerConfig)."""

SERVER_SIDE_RESET = "useServerSideResetOffset"
"""Whether a broker of 5.x resets offsets without its clients (org.apache.rocketmq.common.BrokerConfig)."""

RETRIES_MAX = 16
"""After so many retries a message goes to the dead-letter topic (``retryMaxTimes`` of SubscriptionGroupConfig)."""

_VERSION = re.compile(r"V?([0-9]{1,4})[._]([0-9]{1,4})[._]([0-9]{1,4})")


def version_of(told: str) -> tuple[int, ...]:
    """``V4_9_7``, as a broker tells its release (``brokerVersionDesc`` of its runtime information), is (4, 9, 7); else empty."""
    match = _VERSION.search(told)
    return tuple(int(part) for part in match.groups()) if match else ()


NAMESRV_CLASSES = ("org.apache.rocketmq.namesrv.NamesrvStartup",)
BROKER_CLASSES = (
    "org.apache.rocketmq.broker.BrokerStartup",
    "org.apache.rocketmq.container.BrokerContainerStartup",
    "org.apache.rocketmq.proxy.ProxyStartup",
)
"""Main classes of the processes that are a name server or have a broker in them; in its local mode a proxy of 5.x has one."""

# --- the remoting protocol ----------------------------------------------------------------------------------------------

FRAME_LIMIT = "com.rocketmq.remoting.frameMaxLength"
FRAME_BYTES_MAX = 16_777_216
"""A property of the JVM: the longest frame that it reads (org.apache.rocketmq.remoting.netty.NettyDecoder)."""

# RequestCode of org.apache.rocketmq.common.protocol (org.apache.rocketmq.remoting.protocol in 5.x).
SEND_MESSAGE = 10
PULL_MESSAGE = 11
QUERY_CONSUMER_OFFSET = 14
UPDATE_CONSUMER_OFFSET = 15
UPDATE_AND_CREATE_TOPIC = 17
GET_ALL_TOPIC_CONFIG = 21
UPDATE_BROKER_CONFIG = 25
GET_BROKER_CONFIG = 26
GET_BROKER_RUNTIME_INFO = 28
SEARCH_OFFSET_BY_TIMESTAMP = 29
GET_MAX_OFFSET = 30
GET_MIN_OFFSET = 31
HEART_BEAT = 34
CONSUMER_SEND_MSG_BACK = 36
GET_CONSUMER_LIST_BY_GROUP = 38
LOCK_BATCH_MQ = 41
UNLOCK_BATCH_MQ = 42
GET_ALL_CONSUMER_OFFSET = 43
PUT_KV_CONFIG = 100
REGISTER_BROKER = 103
UNREGISTER_BROKER = 104
GET_ROUTEINFO_BY_TOPIC = 105  # GET_ROUTEINTO_BY_TOPIC in 4.6.0
GET_BROKER_CLUSTER_INFO = 106
UPDATE_AND_CREATE_SUBSCRIPTIONGROUP = 200
GET_CONSUMER_CONNECTION_LIST = 203
WIPE_WRITE_PERM_OF_BROKER = 205
GET_ALL_TOPIC_LIST_FROM_NAMESERVER = 206
DELETE_SUBSCRIPTIONGROUP = 207
DELETE_TOPIC_IN_BROKER = 215
DELETE_TOPIC_IN_NAMESRV = 216
INVOKE_BROKER_TO_RESET_OFFSET = 222
GET_CONSUMER_RUNNING_INFO = 307
UPDATE_NAMESRV_CONFIG = 318

# ResponseCode of the same packages.
SUCCESS = 0
SYSTEM_ERROR = 1
TOPIC_NOT_EXIST = 17
QUERY_NOT_FOUND = 22
CONSUMER_NOT_ONLINE = 206
