"""What the releases' logs say of incidents: kinds of events, the words of each, and the class that writes them.

An event is one line, or a line of the stack trace below it. Which releases have its words was read from the classes of those
between 4.4.0 and 5.5.0 that are whole on Maven Central (``python -m tools.words``); a test looks all of them up in the jars of each
release that is recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from harness.model.rocketmq import (
    OP_TOPIC,
    OVERLOAD,
    PC_SYNCHRONIZED,
    PCBUSY_CLEAN_QUEUE,
    POOL_BUSY,
    REJECTREQUEST,
    TIMEOUT_CLEAN_QUEUE,
)

_ROCKETMQ = "org.apache.rocketmq"
_LOCKS = f"{_ROCKETMQ}.broker.client.rebalance.RebalanceLockManager"
_GROUPS = f"{_ROCKETMQ}.broker.client.ConsumerGroupInfo"
_OUTER = f"{_ROCKETMQ}.broker.out.BrokerOuterAPI"
_ROUTES = f"{_ROCKETMQ}.namesrv.routeinfo.RouteInfoManager"
_REMOTING = f"{_ROCKETMQ}.remoting.netty.NettyRemotingAbstract"
_TOPICS = f"{_ROCKETMQ}.broker.topic.TopicConfigManager"
_ORDERLY = f"{_ROCKETMQ}.client.impl.consumer.ConsumeMessageOrderlyService$ConsumeRequest"
_PUSH = f"{_ROCKETMQ}.client.impl.consumer.DefaultMQPushConsumerImpl"
_ALLOCATE = f"{_ROCKETMQ}.store.AllocateMappedFileService"
_CLEAN = f"{_ROCKETMQ}.store.DefaultMessageStore$CleanCommitLogService"
_DELIVERY = "ScheduleMessageService$DeliverDelayedMessageTimerTask"
_NETTY = "io.netty.handler.codec"

_QUEUE = r"topic=(?P<topic>[^,\]]+), brokerName=(?P<broker>[^,\]]+), queueId=(?P<queue>\d+)"
_HOST = r"(?:\d+\.\d+\.\d+\.\d+|\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9][\w.-]*)"
"""An IPv4, an IPv6 in brackets, or a name: a broker registers what brokerIP1 says."""
_NAMED = rf"(?P<address>{_HOST}:\d+)"
_ADDRESS = r"(?P<address>(?:\d+\.\d+\.\d+\.\d+|\[[0-9A-Fa-f:.%]*:[0-9A-Fa-f:.%]*\]):\d+)"
_CHANNEL = r"id: (?P<channel>0x[0-9a-f]+).*?clientId=(?P<client>[^,\]\s]+)"
_NUMBERS = r"\[topicName=(?P<topic>[^,\]]+), readQueueNums=(?P<read>\d{1,9}), writeQueueNums=(?P<write>\d{1,9})"
_PULL_REQUEST = (
    r"[cC]onsumerGroup(?:=|: )(?P<group>[^,\]\s]+), .*?[tT]opic(?:=|: )(?P<topic>[^,\]\s]+), .*?"
    r"brokerName=(?P<broker>[^,\]\s]+), queueId=(?P<queue>\d+)"
)
"""Of clients in Java and in Go."""
_REFUSED = r"(?:.*? (?:BROKER: |Broker: ).*?" + _ADDRESS + ")?"


class Logged(StrEnum):
    """Kinds of events."""

    SLOW_APPEND = "slow append"
    SLOW_PUT = "slow put"
    SLAVE_LATE = "slave had not copied in time"
    IN_SYNC_SHORT = "sends refused, too few replicas in sync"
    APPEND_THREW = "append threw an exception"
    DELIVERY_THREW = "delivery of a delayed message threw an exception"
    DISK_FULL = "disk counts as full"
    FILES_FORCED = "files deleted whatever their age"
    NOTHING_DELETED = "no file could be deleted"
    DISK_OK = "disk counts as full no more"
    POOL_LOW = "store pool is low"
    POOL_EMPTY = "store pool is empty"
    FILE_TIMEOUT = "commit-log file not made in time"
    KILLED = "broker was killed before"
    REFUSED_FOR_AGE = "sends refused for their age"
    REFUSED_FOR_CACHE = "sends refused for the page cache"
    REFUSED_FULL = "sends refused, queue full"
    POOL_BUSY = "thread pool full"
    LOCK_TAKEN = "lock taken"
    LOCK_WAITED = "lock held by another client"
    LOCK_EXPIRED = "expired lock taken over"
    UNLOCKED = "unlocked"
    NOT_LOCKED = "consumer waits for its lock"
    PULL_PUT_OFF = "pull put off, queue not locked"
    QUEUE_ASSIGNED = "queue assigned to a consumer"
    NOT_ASSIGNED = "queue not assigned, its lock was refused"
    CLIENT_GONE = "client's connection lost"
    CONSUMER_CAME = "consumer connected"
    CONSUMER_WENT = "consumer unregistered"
    GROUP_UNKNOWN = "pull of a group that the broker does not know"
    PULL_FAILED = "pull failed"
    SUBSCRIPTION_CHANGED = "subscription changed"
    SUBSCRIPTION_REMOVED = "topic removed from a subscription"
    SHUT_DOWN = "broker shut down"
    REGISTERED = "broker registered"
    NOT_REGISTERED = "registration failed"
    FRAME_TOO_LONG = "frame too long"
    UNDECODABLE = "request not decoded"
    BROKER_CAME = "broker came"
    BROKER_WENT = "broker went"
    UNREACHABLE = "no connection"
    NO_ANSWER = "no answer in time"
    NO_TIME_LEFT = "request without time for an answer"
    ATTEMPT_FAILED = "attempt to send failed"
    SENT_AGAIN = "asynchronous send tried again"
    DEAD_LETTERS = "dead-letter topic made"
    TOPIC_MADE = "topic made"
    TOPIC_CHANGED = "topic changed"
    OFFSETS_RESET = "client told to reset offsets"
    RESET_ASKED = "reset of a group's offsets asked for"
    PULL_RESET = "pull answered with the offset of a reset"
    TOPIC_DELETED = "topic deleted"
    OFFSET_PAST_END = "pull beyond the end of a queue"
    SLAVE_SILENT = "silent slave given up"
    OP_QUEUE_DELETED = "queue of what ends transactions deleted"
    HALF_UNREADABLE = "half message cannot be read"
    BOOTED = "broker started"
    ACL_KEY_ON = "aclEnable=true printed"
    ACL_READ = "accounts of plain_acl.yml read"
    CONNECTED = "connection made"
    NO_ROUTE = "topic without a route"
    NOT_AUTHORISED = "request refused by access control"
    FLOW_CONTROL = "pulls put off, too much cached"
    SPAN_CONTROL = "pulls put off, span too long"
    PULL_PAUSED = "queue given up, nothing pulled"
    OFFSET_ILLEGAL = "pull of an offset that the queue does not have"
    EXPIRED_BACK = "message sent back after consumeTimeout"
    TOO_LONG = "message too long"
    NOT_WRITABLE = "sends refused, store not writable"
    STORE_REFUSES = "store takes no messages, not writable"
    NO_FILE = "sends refused, no file to append to"
    MAP_FAILED = "file could not be mapped"
    HEAP_FULL = "no heap left"
    DIRECT_FULL = "no direct memory left"
    NO_THREAD = "no thread could be made"
    NO_MEMORY = "JVM did not get its memory"
    OOM_KILLED = "kernel killed a Java process"
    PROXY_SILENT = "a request of gRPC failed"
    LEADER_SILENT = "a leader of DLedger was not heard"
    LEADER_MOVED = "a leader of DLedger is to be another"
    PORT_TAKEN = "port taken"
    STORE_LOCKED = "store locked by another process"
    STORE_UNLOADED = "store not loaded"
    NO_DIRECTORY = "store's disk not readable"
    DELAY_OFFSET = "delayed messages read at an offset that is not there"
    TIMER_THREW = "timer messages threw an exception"
    REVIVE_OFFSET = "popped messages read at an offset that is not there"
    HA_DIVERGED = "slave's commit log ends elsewhere"
    SLAVE_BEHIND = "slave behind its master"
    SLAVE_LACKS = "slave asked for an offset that it does not have"


class LogPattern(StrEnum):
    """What events mean together, where it takes a rule to tell: each is made by a function of ``analysis.diagnosis.rules``."""

    SHORT_STALL = "appends stalled, none for as long as the page cache needs to count as busy"
    LONG_STALL = "appends stalled for so long that the page cache counted as busy"
    APPEND_THREW = "an append threw an exception inside the put lock"
    SEND_POOL_FULL = "the send pool took no request"
    POOL_EXHAUSTED = "the transient store pool had no free buffer"
    FILES_LATE = "commit-log files were not there when they were needed"
    KILLED_WITH_POOL = "a broker with the transient store pool was not shut down"
    DELIVERY_THREW = "the delivery of a delayed message threw"
    DISK_FULL = "the disk counted as full"
    DISK_NEAR_LIMIT = "the disk counted as full, little above the limit"
    CLIENT_IDS_EQUAL = "two members had one client id"
    SUBSCRIPTIONS_DIFFER = "a group's subscription went to and fro"
    OFFSETS_RESET = "members were told to reset their offsets"
    GROUPS_UNKNOWN = "a broker that had started did not know its groups"
    LOCK_WAITED = "a client waited for queues that another one had locked"
    OWN_LOCK_WAITED = "a client waited for a lock that it had"
    OFFSET_PAST_END = "a group asked for an offset beyond the end of its queue"
    FRAME_OVER_LIMIT = "a request was longer than its receiver takes"
    REGISTRATIONS_DIFFER = "a broker was registered with some name servers only"
    LEFT_AND_RETURNED = "a broker left the routes and came back"
    SENT_AGAIN = "asynchronous sends were tried again at another broker"
    NO_TIME_LEFT = "sends were tried again with no time left"
    SLAVE_SILENT = "a master gave up its slave"
    READS_REFUSED = "a slave refused pulls"
    DEAD_LETTERS = "a group had its first dead letter"
    QUEUE_NUMBERS_DIFFER = "a topic's numbers of write and read queues differed"
    TOPIC_MADE_ANEW = "a topic was deleted and made again"
    OP_QUEUE_DELETED = "the queue of what ends transactions went with a topic"
    HALF_UNREADABLE = "a half message could not be read"
    BROKER_GONE = "a broker was gone"
    NEVER_REACHED = "an address was never reached"
    NAME_SERVER_UNREACHED = "a name server's address was never reached"
    GROUPS_NEVER_KNOWN = "a broker did not know a group for longer than a heartbeat takes"
    CONSUMER_SLOW = "a consumer had as much cached as it may"
    OFFSET_HELD = "one message held the offset of its queue"
    OFFSET_LOOP = "a consumer asked for the same illegal offset again and again"
    NO_ROUTE = "a topic had no route"
    MAP_FAILED = "files could not be mapped"
    NOT_WRITABLE = "a store was not writable, though its disk had room"


@dataclass(frozen=True, kw_only=True)
class LineWords:
    """Words that a line contains, and the class that writes it; of several classes each release has one.

    ``since`` and ``until`` are the first and the last release that has the words, of those whose classes were looked at; empty
    where the oldest and the newest of them have.
    """

    words: str
    by: str
    since: str = ""
    until: str = ""


@dataclass(frozen=True, kw_only=True)
class Wording(LineWords):
    """Words of a line of this event; ``fields`` finds what else it says, by names, in the whole line. What a class of characters
    takes in it, what follows does not.

    ``written`` is what the class ``by`` has of the words, where it puts the line together of more than one text. ``lacking`` are
    the first and the last of the releases between ``since`` and ``until`` that have not.
    """

    event: Logged
    fields: str = ""
    written: str = ""
    lacking: tuple[str, str] | None = None


def _4x(event: Logged, words: str, by: str, fields: str = "") -> Wording:
    return Wording(event=event, words=words, by=by, until="4.9.7", fields=fields)


def _5x(event: Logged, words: str, by: str, fields: str = "") -> Wording:
    return Wording(event=event, words=words, by=by, since="5.0.0", fields=fields)


def _all(event: Logged, words: str, by: str, fields: str = "") -> Wording:
    return Wording(event=event, words=words, by=by, fields=fields)


def _refused(event: Logged, keyword: str, by: str) -> Wording:
    return _all(event, f"[{keyword}]", by, rf"\[(?P<keyword>{keyword})\]{_REFUSED}")


_WAITED_4X = r"Group: (?P<group>\S+) O(?:ther|ld)ClientId: (?P<holder>\S+) NewClientId: (?P<client>\S+) .*?" + _QUEUE
_WAITED_5X = (
    r"group=(?P<group>[^,\s]+), mq=.*?"
    + _QUEUE
    + r"\], \w+ client id=(?P<holder>[^,\s]+), \w+ client id=(?P<client>\S+)"
)

WORDINGS: tuple[Wording, ...] = (
    _all(Logged.SLOW_APPEND, " in lock cost time(ms)=", f"{_ROCKETMQ}.store.CommitLog", r"time\(ms\)=(?P<ms>\d{1,9})"),
    # Of 4.4.0 and of batches in 5.x "eclipse", else "elapsed".
    Wording(
        event=Logged.SLOW_PUT, words="not in lock elapsed time(ms)=", by=f"{_ROCKETMQ}.store.DefaultMessageStore",
        since="4.5.2", until="4.9.7", fields=r"time\(ms\)=(?P<ms>\d{1,9})",
    ),
    _5x(
        Logged.SLOW_PUT, "CommitLog#putMessage cost ", f"{_ROCKETMQ}.store.DefaultMessageStore",
        r"cost (?P<ms>\d{1,9})ms, topic=(?P<topic>[^,\s]+)",
    ),
    Wording(
        event=Logged.SLOW_PUT, words="not in lock eclipse time(ms)=", by=f"{_ROCKETMQ}.store.DefaultMessageStore",
        lacking=("4.5.2", "4.9.7"), fields=r"time\(ms\)=(?P<ms>\d{1,9})",
    ),
    # A synchronous master's, after syncFlushTimeout.
    Wording(
        event=Logged.SLAVE_LATE, words="do sync transfer other node, wait return, but failed, topic: ", until="4.9.2",
        by=f"{_ROCKETMQ}.store.CommitLog", fields=r"topic: (?P<topic>\S+)",
    ),
    _5x(
        Logged.IN_SYNC_SHORT, "in-sync replicas not enough", f"{_ROCKETMQ}.broker.processor.SendMessageProcessor",
        rf"not enough(?:.*?BROKER: {_ADDRESS})?",
    ),
    # A line of a stack trace: by its method's name, which is putMessage in 4.6.0 and asyncPutMessage since.
    Wording(
        event=Logged.APPEND_THREW, words=f"at {_ROCKETMQ}.store.CommitLog.putMessage(", by=f"{_ROCKETMQ}.store.CommitLog",
        written="utMessage",
    ),
    Wording(
        event=Logged.APPEND_THREW, words=f"at {_ROCKETMQ}.store.CommitLog.asyncPutMessage(", by=f"{_ROCKETMQ}.store.CommitLog",
        written="utMessage",
    ),
    # 4.6.0 drops the message, whose topic it tells; 4.9.7 tells the offset from which it tries again. So do 5.0.0 and 5.1.0, which
    # have gone on with the next message by then.
    Wording(
        event=Logged.DELIVERY_THREW, words="ScheduleMessageService, messageTimeup execute error, ", until="5.1.0",
        by=f"{_ROCKETMQ}.store.schedule.{_DELIVERY}, {_ROCKETMQ}.broker.schedule.{_DELIVERY}",
        fields=r"error, (?P<lost>drop it)?(?:.*?REAL_TOPIC=(?P<topic>[^,}\s]+))?(?:.*?offset = (?P<offset>\d+))?",
    ),
    Wording(
        event=Logged.DELIVERY_THREW, words="ScheduleMessageService, messageTimeUp execute error, ", since="5.1.1",
        by=f"{_ROCKETMQ}.broker.schedule.{_DELIVERY}", fields=r"(?P<lost>messageTimeUp) execute error, offset = (?P<offset>\d+)",
    ),
    _all(
        Logged.DISK_FULL, ", so mark disk full", _CLEAN,
        r"full soon,?(?: used)? ?(?P<ratio>[01]\.\d{1,20})(?:.*?storePathPhysic=(?P<path>\S+))?",
    ),
    Wording(event=Logged.FILES_FORCED, words="cleanAtOnce: true", by=_CLEAN, written="cleanAtOnce: {}"),
    _all(Logged.NOTHING_DELETED, "disk space will be full soon, but delete file failed", _CLEAN),
    _all(Logged.DISK_OK, ", so mark disk ok", _CLEAN, r"OK ?(?P<ratio>-?[01]\.\d{1,20})"),
    _all(
        Logged.POOL_LOW, "TransientStorePool only remain", f"{_ROCKETMQ}.store.TransientStorePool", r"remain (?P<left>\d+)"
    ),
    _all(Logged.POOL_EMPTY, "TransientStorePool is not enough", _ALLOCATE),
    _all(Logged.FILE_TIMEOUT, "create mmap timeout", _ALLOCATE),
    Wording(
        event=Logged.KILLED, words="last shutdown abnormally", by=f"{_ROCKETMQ}.store.DefaultMessageStore",
        written="abnormally",
    ),
    _refused(Logged.REFUSED_FOR_AGE, TIMEOUT_CLEAN_QUEUE, f"{_ROCKETMQ}.broker.latency.BrokerFastFailure"),
    _refused(Logged.REFUSED_FOR_CACHE, PCBUSY_CLEAN_QUEUE, f"{_ROCKETMQ}.broker.latency.BrokerFastFailure"),
    _refused(Logged.REFUSED_FOR_CACHE, PC_SYNCHRONIZED, f"{_ROCKETMQ}.broker.processor.SendMessageProcessor"),
    _refused(Logged.REFUSED_FOR_CACHE, REJECTREQUEST, _REMOTING),
    _refused(Logged.REFUSED_FULL, OVERLOAD, _REMOTING),
    _all(
        Logged.POOL_BUSY, POOL_BUSY, _REMOTING,
        r"(?:\[(?P<state>[A-Z][a-z ]*), pool size.*?queued tasks = (?P<queued>\d+).*?)?request code: (?P<code>-?\d+)",
    ),
    _4x(Logged.LOCK_WAITED, "message queue locked by other client", _LOCKS, _WAITED_4X),
    _5x(Logged.LOCK_WAITED, "message queue has been locked by other client", _LOCKS, _WAITED_5X),
    _4x(Logged.LOCK_EXPIRED, "lock expired, I got it", _LOCKS, _WAITED_4X),
    _5x(Logged.LOCK_EXPIRED, "try to lock a expired message queue", _LOCKS, _WAITED_5X),
    _4x(Logged.LOCK_TAKEN, "not locked, I got it", _LOCKS, r"Group: (?P<group>\S+) NewClientId: (?P<client>\S+) .*?" + _QUEUE),
    _5x(
        Logged.LOCK_TAKEN, "has not been locked yet", _LOCKS,
        r"group=(?P<group>[^,\s]+), clientId=(?P<client>[^,\s]+), .*?" + _QUEUE,
    ),
    _4x(Logged.UNLOCKED, "unlockBatch, Group:", _LOCKS, r"Group: (?P<group>\S+) .*?" + _QUEUE + r"\] (?P<client>\S+)"),
    _5x(
        Logged.UNLOCKED, "unlockBatch: unlock mq", _LOCKS,
        r"group=(?P<group>[^,\s]+), clientId=(?P<client>[^,\s]+), .*?" + _QUEUE,
    ),
    # Clients in C++ and Go write the same words, and the group in other places.
    _all(
        Logged.NOT_ASSIGNED, ", because lock failed", f"{_ROCKETMQ}.client.impl.consumer.RebalanceImpl",
        r"(?:doRebalance, (?P<group>[^,\s]+), )?add a new mq failed, "
        r'(?:because lock failed\s+\{"consumerGroup":\s*"(?P<group__zap>[^"]+)")?'
        rf".*?{_QUEUE}(?:.*?consumerGroup=(?P<group__logrus>[^\s,]+))?",
    ),
    _all(Logged.NOT_LOCKED, "the message queue not locked, so consume later", _ORDERLY, _QUEUE),
    _all(
        Logged.PULL_PUT_OFF, "pull message later because not locked in broker, ", _PUSH,
        r"consumerGroup=(?P<group>[^,\]]+), messageQueue=.*?" + _QUEUE,
    ),
    # Not that of a queue whose lock it did not get: "add a new mq failed".
    _all(
        Logged.QUEUE_ASSIGNED, ", add a new mq, ", f"{_ROCKETMQ}.client.impl.consumer.RebalanceImpl",
        r"doRebalance, (?P<group>[^,\s]+), add a new mq, .*?" + _QUEUE,
    ),
    _all(
        Logged.GROUP_UNKNOWN, "the consumer's group info not exist, group: ", f"{_ROCKETMQ}.broker.processor.PullMessageProcessor",
        r"group: (?P<group>\S+)",
    ),
    # 4.x does not say whose pull it was. The answer of a broker stands below.
    _all(
        Logged.PULL_FAILED, "execute the pull request exception", f"{_PUSH}$1",
        r"exception, group=(?P<group>[^,\s]+), messageQueue=.*?" + _QUEUE,
    ),
    _all(Logged.CONSUMER_CAME, "new consumer connected, group: ", _GROUPS, r"group: (?P<group>\S+) .*?" + _CHANNEL),
    _all(Logged.CONSUMER_WENT, "unregister a consumer[", _GROUPS, r"consumer\[(?P<group>[^\]]+)\].*?" + _CHANNEL),
    # Has the words of a subscription that changed, and so comes before it.
    _all(
        Logged.SUBSCRIPTION_REMOVED, " remove topic ", _GROUPS,
        r"subscription changed, group: (?P<group>\S+) remove topic (?P<topic>\S+)",
    ),
    _all(
        Logged.SUBSCRIPTION_CHANGED, "subscription changed, group: ", _GROUPS,
        r"group: (?P<group>\S+) OLD: .*?topic=(?P<topic>[^,\]]+), subString=(?P<old>.*?), tagsSet=.*? NEW: .*?"
        r"subString=(?P<new>.*?), tagsSet=",
    ),
    _all(
        Logged.CLIENT_GONE, "NETTY EVENT: remove ", _GROUPS,
        r"clientId=(?P<client>[^,\]\s]+)",
    ),
    # Contains the words of a registration that failed, and so comes before it.
    _all(Logged.SHUT_DOWN, "unregisterBroker Exception, ", _OUTER),
    _all(Logged.SHUT_DOWN, "unregisterBroker OK, ", _OUTER),
    Wording(
        event=Logged.REGISTERED, words="]to name server ", by=_OUTER, since="4.5.2", until="4.9.7",
        fields=r"name server (?P<address>\S+) OK",
    ),
    Wording(
        event=Logged.REGISTERED, words="register broker to name server ", by=_OUTER, until="4.4.0",
        fields=r"name server (?P<address>\S+) OK",
    ),
    _5x(
        Logged.REGISTERED, "Registering current broker to name server completed", _OUTER, r"TargetHost=(?P<address>\S+)"
    ),
    _4x(Logged.NOT_REGISTERED, "registerBroker Exception, ", _OUTER, r"registerBroker Exception, (?P<address>\S+)"),
    _5x(Logged.NOT_REGISTERED, "Failed to register current broker to name server", _OUTER, r"TargetHost=(?P<address>\S+)"),
    _all(
        Logged.FRAME_TOO_LONG, "Adjusted frame length exceeds ", f"{_NETTY}.LengthFieldBasedFrameDecoder",
        r"exceeds (?P<limit>\d{1,12})(?:: (?P<bytes>\d{1,12}))?",
    ),
    _all(
        Logged.UNDECODABLE, "decode exception, ", f"{_ROCKETMQ}.remoting.netty.NettyDecoder", "exception, /?" + _ADDRESS,
    ),
    _all(
        Logged.BROKER_CAME, "new broker registered, ", _ROUTES, rf"registered, (?:BrokerIdentityInfo \[.*?brokerAddr=)?{_NAMED}",
    ),
    _all(
        Logged.BROKER_WENT, "The broker channel expired, ", _ROUTES, rf"expired, (?:BrokerAddrInfo.*?brokerAddr='?)?{_NAMED}",
    ),
    Wording(
        event=Logged.BROKER_WENT, words="unregisterBroker, remove from brokerLiveTable OK", by=_ROUTES,
        written="unregisterBroker, remove from brokerLiveTable ", fields=_ADDRESS,
    ),
    _all(
        Logged.BROKER_WENT, "the broker's channel destroyed", _ROUTES, rf"destroyed, (?:BrokerAddrInfo.*?brokerAddr='?)?{_NAMED}",
    ),
    Wording(
        event=Logged.UNREACHABLE, words="RemotingSendRequestException: send request to ",
        by=f"{_ROCKETMQ}.remoting.exception.RemotingSendRequestException", written="send request to <",
        fields=r"(?P<error>Remoting\w+): send request to </?(?P<address>[^\s>]+)> failed",
    ),
    Wording(
        event=Logged.UNREACHABLE, words="RemotingConnectException: connect to ",
        by=f"{_ROCKETMQ}.remoting.exception.RemotingConnectException", written="connect to ",
        fields=r"(?P<error>Remoting\w+): connect to (?:<|\[(?=[^\]]*\] failed))?/?"
        r"(?P<address>\[[^\]\s]+\]:\d+|[^\s<>\[\]]+(?: #[^<>]{0,100})?)[>\]]? failed",
    ),
    # What it failed with stands below it.
    _all(
        Logged.ATTEMPT_FAILED, "sendKernelImpl exception, resend at once",
        f"{_ROCKETMQ}.client.impl.producer.DefaultMQProducerImpl", r"brokerName=(?P<broker>[^,\]]+)",
    ),
    # What is tried again when the timeout is used up: 4.x sends it all the same, and newer clients mostly do not. The words stand
    # before those of an answer that did not come in time, which that line has, too.
    Wording(
        event=Logged.NO_TIME_LEFT, words="> timeout, 0(ms)", by=f"{_ROCKETMQ}.remoting.exception.RemotingTimeoutException",
        written="> timeout, ", fields=r"channel </?(?P<address>[^\s>]+)> timeout, 0",
    ),
    Wording(
        event=Logged.NO_TIME_LEFT, words="RemotingTimeoutException: invokeSync call the addr[", since="4.9.3",
        by=f"{_ROCKETMQ}.remoting.netty.NettyRemotingClient", written="invokeSync call the addr[",
        fields=r"addr\[/?(?P<address>\d[^\]\s]*)\] timeout",
    ),
    # Above those of 4.9.3 to 4.9.7 as well. 4.3.0 to 4.9.2, without the address.
    Wording(
        event=Logged.NO_TIME_LEFT, words="RemotingTimeoutException: invokeSync call timeout", until="4.9.2",
        by=f"{_ROCKETMQ}.remoting.netty.NettyRemotingClient", written="invokeSync call timeout",
        fields=r"invokeSync call (?P<unnamed>timeout)",
    ),
    Wording(
        event=Logged.NO_ANSWER, words="RemotingTimeoutException: wait response on the channel ",
        by=f"{_ROCKETMQ}.remoting.exception.RemotingTimeoutException", written="wait response on the channel <",
        fields=r"(?P<error>Remoting\w+): wait response on the channel </?(?P<address>[^\s>]+)>",
    ),
    # At INFO by 4.6.0, which gives each try the whole timeout, and at WARN since 4.9.7, which has nothing of it left after one.
    _all(
        Logged.SENT_AGAIN, "async send msg by retry ", f"{_ROCKETMQ}.client.impl.MQClientAPIImpl",
        r" (?P<level>INFO|WARN) .*? by retry \d{1,9} times\. topic=(?P<topic>[^,\s]+), ",
    ),
    Wording(
        event=Logged.DEAD_LETTERS, words="[topicName=%DLQ%", by=_TOPICS, written="create new topic {}",
        fields=r"topicName=(?P<topic>%DLQ%(?P<group>[^,\]]+))",
    ),
    _all(Logged.TOPIC_MADE, "create new topic ", _TOPICS, _NUMBERS),
    _all(Logged.TOPIC_MADE, "Create new topic by default topic:", _TOPICS, _NUMBERS),
    _all(Logged.TOPIC_CHANGED, "update topic config, old:", _TOPICS, r"new:\[.*?" + _NUMBERS),
    _all(
        Logged.OFFSETS_RESET, "[reset-offset] reset offset success. topic=", f"{_ROCKETMQ}.broker.client.net.Broker2Client",
        r"topic=(?P<topic>[^,]+), group=(?P<group>[^,]+), clientId=(?P<client>[^,\s]+)",
    ),
    _all(
        Logged.RESET_ASKED, "[reset-offset] reset offset started by ", f"{_ROCKETMQ}.broker.processor.AdminBrokerProcessor",
        r"topic=(?P<topic>[^,]+), group=(?P<group>[^,\s]+)",
    ),
    Wording(
        event=Logged.RESET_ASKED, words="Reset offset, topic=", by=f"{_ROCKETMQ}.broker.processor.AdminBrokerProcessor",
        since="5.1.0", fields=r"topic=(?P<topic>[^,]+), group=(?P<group>[^,\s]+)",
    ),
    # Stands before the line of a pull that was answered with another offset (PULL_OFFSET_MOVED), which is no end of a queue then.
    Wording(
        event=Logged.PULL_RESET, words="The queue under pulling was previously reset to start from ", since="5.1.0",
        by=f"{_ROCKETMQ}.broker.processor.PullMessageProcessor", fields=r"start from (?P<new>\d{1,19})",
    ),
    # A slave of 5.x deletes what its master does not have (SlaveSynchronize), in a timer's thread.
    _all(
        Logged.TOPIC_DELETED, "delete topic config OK, topic: ", _TOPICS,
        r"(?:[ \[](?P<synced>BrokerControllerScheduledThread)\d.*?)?topicName=(?P<topic>[^,\]]+)",
    ),
    # 4.9.7 has the words, and deletes every other queue so.
    Wording(
        event=Logged.OP_QUEUE_DELETED, words=f"cleanUnusedTopic: {OP_TOPIC},topic destroyed", until="5.0.0",
        by=f"{_ROCKETMQ}.store.DefaultMessageStore", written="cleanUnusedTopic: {},topic destroyed",
    ),
    _all(
        Logged.HALF_UNREADABLE, "selectMappedBuffer request pos invalid, ",
        f"{_ROCKETMQ}.store.MappedFile, {_ROCKETMQ}.store.logfile.DefaultMappedFile",
        r"[ \[](?P<thread>EndTransactionThread_\d{1,9})[\] ]",
    ),
    _all(
        Logged.OFFSET_PAST_END, "PULL_OFFSET_MOVED:correction offset. topic=",
        f"{_ROCKETMQ}.broker.processor.PullMessageProcessor, {_ROCKETMQ}.broker.processor.DefaultPullMessageResultHandler",
        r"topic=(?P<topic>[^,]+), groupId=(?P<group>[^,]+), requestOffset=(?P<asked>\d{1,19}), newOffset=(?P<new>\d{1,19})",
    ),
    _all(
        Logged.SLAVE_SILENT, "ha housekeeping, found this connection[",
        f"{_ROCKETMQ}.store.ha.HAConnection$ReadSocketService, {_ROCKETMQ}.store.ha.DefaultHAConnection$ReadSocketService",
        r"connection\[/?" + _ADDRESS + r"\] expired, (?P<ms>\d{1,9})",
    ),
    _all(
        Logged.BOOTED, "boot success. serializeType=", f"{_ROCKETMQ}.broker.BrokerStartup",
        r"The broker\[(?P<broker>[^,\]]+), (?P<address>[^\]]+)\]",
    ),
    Wording(event=Logged.ACL_KEY_ON, words="aclEnable=true", by=f"{_ROCKETMQ}.common.BrokerConfig", written="aclEnable"),
    # org.apache.rocketmq.acl.plain, which 4.6.0 to 5.2.0 have, and 5.3.3 and 5.5.0 do not.
    _all(Logged.ACL_READ, "Broker plain acl conf data is", "PlainPermissionManager"),
    # 5.3.3 and newer say nothing of it.
    Wording(
        event=Logged.CONNECTED, words="createChannel: connect remote host[", until="5.2.0",
        by=f"{_ROCKETMQ}.remoting.netty.NettyRemotingClient", fields=rf"host\[/?{_NAMED}\] success",
    ),
    # What Go's net package says, whatever it was to connect to.
    _all(
        Logged.UNREACHABLE, "dial tcp ", "net.OpError",
        rf"dial tcp (?:\S+->)?{_NAMED}: (?P<error>connect: [a-z ]+|i/o timeout|no route to host|operation timed out)",
    ),
    # Of Netty as gRPC has it, and as RocketMQ's own clients of gRPC do.
    _all(
        Logged.UNREACHABLE, "shaded.io.netty.channel.AbstractChannel$AnnotatedConnectException: ", "io.netty",
        rf"(?P<error>[Cc]onnection (?:refused|timed out)).*?: \S*?/?{_NAMED}",
    ),
    # Before 4.5.0 with a comma.
    _all(
        Logged.NO_ROUTE, "No route info of this topic", f"{_ROCKETMQ}.client.impl.producer.DefaultMQProducerImpl",
        r"of this topic[:,] ?(?P<topic>[^\s,;]+)",
    ),
    _all(
        Logged.NO_ROUTE, "No route info for this topic", "rocketmq-client-cpp", r"for this topic[:,] ?(?P<topic>[^\s,;]+)",
    ),
    _all(
        Logged.NO_ROUTE, " route info not found", "rocketmq-client-go", r"topic=(?P<topic>[^\s,;]+) route info not found",
    ),
    _all(
        Logged.NO_ROUTE, "Can not find Message Queue for this topic, ", f"{_ROCKETMQ}.client.impl.MQAdminImpl",
        r"for this topic, (?P<topic>[^\s,;]+)",
    ),
    _all(
        Logged.NO_ROUTE, "No topic route info in name server for the topic: ",
        f"{_ROCKETMQ}.namesrv.processor.DefaultRequestProcessor, {_ROCKETMQ}.namesrv.processor.ClientRequestProcessor",
        r"for the topic: (?P<topic>[^\s,;]+)",
    ),
    # org.apache.rocketmq.acl.plain of 4.4.0 to 5.2.0.
    _all(
        Logged.NOT_AUTHORISED, "No accessKey is configured", "PlainPermissionManager", "(?P<error>No accessKey is configured)",
    ),
    _all(Logged.NOT_AUTHORISED, "No acl config for ", "PlainPermissionManager", r"(?P<error>No acl config for \S+)"),
    _all(
        Logged.NOT_AUTHORISED, "No PlainAccessResource for accessKey=", "PlainPermissionManager",
        r"(?P<error>No PlainAccessResource for accessKey=[^\s,]+)",
    ),
    _all(
        Logged.NOT_AUTHORISED, "Check signature failed for accessKey=", "PlainPermissionManager",
        r"(?P<error>Check signature failed for accessKey=[^\s,]+)",
    ),
    _all(
        Logged.NOT_AUTHORISED, "No default permission for ", "PlainPermissionManager",
        r"(?P<error>No default permission for [^,\s]+)",
    ),
    _all(
        Logged.NOT_AUTHORISED, "Need admin permission for request code=", "PlainPermissionManager",
        r"(?P<error>Need admin permission for request code=\d+)",
    ),
    # org.apache.rocketmq.auth of 5.3.0 and newer.
    _all(
        Logged.NOT_AUTHORISED, "AuthenticationException: ", "AuthenticationException",
        r"(?P<error>AuthenticationException: .{1,80})",
    ),
    _all(
        Logged.NOT_AUTHORISED, "AuthorizationException: ", "AuthorizationException",
        r"(?P<error>AuthorizationException: .{1,80})",
    ),
    _all(
        Logged.NOT_AUTHORISED, "DESC: check signature failed", "AuthenticationException", "(?P<error>check signature failed)",
    ),
    _all(
        Logged.NOT_AUTHORISED, " has no permission to access ", "AuthorizationException",
        r"(?P<error>\S+ has no permission to access \S+)",
    ),
    *(
        _all(Logged.FLOW_CONTROL, words, f"{_PUSH}", _PULL_REQUEST)
        for words in ("cached message count exceeds the threshold", "cached message size exceeds the threshold")
    ),
    _all(Logged.FLOW_CONTROL, "consume request count exceeds threshold", "DefaultLitePullConsumerImpl"),
    _all(
        Logged.FLOW_CONTROL, "the messages waiting to ack exceeds the threshold", "DefaultMQPushConsumerImpl of 5.x",
        _PULL_REQUEST,
    ),
    _all(
        Logged.FLOW_CONTROL, "the consumer message buffer is full, so do flow control", "4.1.0 and older", _PULL_REQUEST,
    ),
    _all(Logged.FLOW_CONTROL, "Process queue total cached messages ", "rocketmq-clients ProcessQueueImpl"),
    _all(Logged.SPAN_CONTROL, "messages, span too long", f"{_PUSH}", _PULL_REQUEST),
    _all(Logged.SPAN_CONTROL, "messages span too long", "rocketmq-client-go", _PULL_REQUEST),
    _all(
        Logged.PULL_PAUSED, "because pull is pause, so try to fixed it", f"{_ROCKETMQ}.client.impl.consumer.RebalanceImpl",
        r"doRebalance, (?P<group>[^,\s]+), .*?" + _QUEUE,
    ),
    _all(Logged.PULL_PAUSED, " according Pull timeout", "rocketmq-client-cpp", _QUEUE),
    _all(
        Logged.OFFSET_ILLEGAL, "pull request offset illegal", f"{_PUSH}$1", _PULL_REQUEST + r".*?nextOffset=(?P<asked>\d{1,19})",
    ),
    _all(
        Logged.EXPIRED_BACK, "send expire msg back. ", f"{_ROCKETMQ}.client.impl.consumer.ProcessQueue",
        r"[. ]topic=(?P<topic>[^,\s]+)",
    ),
    _all(
        Logged.TOO_LONG, "message is illegal, maybe msg body or properties length not matched",
        f"{_ROCKETMQ}.broker.processor.SendMessageProcessor", rf"(?:.*?BROKER: {_ADDRESS})?",
    ),
    _all(
        Logged.TOO_LONG, "the message body size over max value, MAX", f"{_ROCKETMQ}.client.Validators",
        r"over max value, MAX:? ?(?P<limit>\d{1,12})",
    ),
    Wording(
        event=Logged.TOO_LONG, words="message size exceeded, msg total size: ", lacking=("4.9.4", "4.9.4"),
        by=f"{_ROCKETMQ}.store.CommitLog$DefaultAppendMessageCallback, {_ROCKETMQ}.store.CommitLog$MessageExtEncoder, "
        f"{_ROCKETMQ}.store.MessageExtEncoder", fields=r"maxMessageSize: (?P<limit>\d{1,12})",
    ),
    Wording(
        event=Logged.TOO_LONG, words="message body size exceeded, msg ", since="4.9.4",
        by=f"{_ROCKETMQ}.store.CommitLog$MessageExtEncoder, {_ROCKETMQ}.store.MessageExtEncoder",
        fields=r"maxMessageSize: (?P<limit>\d{1,12})",
    ),
    _all(
        Logged.TOO_LONG, "message body cannot exceed the max ", "proxy's SendMessageActivity", r"the max (?P<limit>\d{1,12})",
    ),
    _all(
        Logged.TOO_LONG, "essage body size exceeds the threshold, max size=", "rocketmq-clients", r"max size=(?P<limit>\d{1,12})",
    ),
    _all(
        Logged.NOT_WRITABLE, "service not available now", f"{_ROCKETMQ}.broker.processor.SendMessageProcessor",
        rf"CL: +(?P<ratio>-?\d\.\d{{1,4}})(?: CQ: +(?P<queues>-?\d\.\d{{1,4}}))?(?:.*?BROKER: {_ADDRESS})?",
    ),
    # Of 4.9.7; 4.6.0 and 5.x have other words, and 4.7.0 and 4.7.1 say nothing.
    Wording(
        event=Logged.STORE_REFUSES, words="the message store is not writable", by=f"{_ROCKETMQ}.store.DefaultMessageStore",
        since="4.8.0", until="4.9.7",
    ),
    Wording(
        event=Logged.STORE_REFUSES, words="message store is not writeable, so putMessage is forbidden",
        lacking=("4.7.0", "4.9.7"),
        by=f"{_ROCKETMQ}.store.DefaultMessageStore, {_ROCKETMQ}.broker.util.HookUtils",
    ),
    _all(Logged.NO_FILE, "create mapped file failed", f"{_ROCKETMQ}.broker.processor.SendMessageProcessor", _REFUSED),
    _all(Logged.MAP_FAILED, "java.io.IOException: Map failed", "sun.nio.ch.FileChannelImpl"),
    _all(Logged.MAP_FAILED, "java.lang.OutOfMemoryError: Map failed", "sun.nio.ch.FileChannelImpl"),
    *(
        _all(Logged.HEAP_FULL, f"java.lang.OutOfMemoryError: {why}", "the JVM", f"(?P<error>{why})")
        for why in ("Java heap space", "GC overhead limit exceeded", "Metaspace", "Requested array size exceeds VM limit")
    ),
    *(
        _all(Logged.DIRECT_FULL, f"java.lang.OutOfMemoryError: {why}", "java.nio.Bits", f"(?P<error>{why})")
        for why in ("Direct buffer memory", "Cannot reserve ")
    ),
    _all(
        Logged.DIRECT_FULL, "OutOfDirectMemoryError: failed to allocate ", "io.netty", "(?P<error>failed to allocate)",
    ),
    *(
        _all(Logged.NO_THREAD, f"java.lang.OutOfMemoryError: {why}", "the JVM", f"(?P<error>{why})")
        for why in ("unable to create new native thread", "unable to create native thread")
    ),
    _all(Logged.NO_MEMORY, "There is insufficient memory for the Java Runtime Environment", "the JVM"),
    _all(Logged.NO_MEMORY, "Could not reserve enough space for ", "the JVM"),
    _all(Logged.NO_MEMORY, "os::commit_memory(", "the JVM"),
    *(
        _all(Logged.OOM_KILLED, words, "Linux", r"\((?P<java>java)\)")
        for words in ("Out of memory: Kill process ", "Out of memory: Killed process ", "Memory cgroup out of memory: Kill")
    ),
    *(
        _all(
            Logged.PROXY_SILENT, f"StatusRuntimeException: {status}", "io.grpc",
            rf"StatusRuntimeException: (?P<error>{status}(?:: [\w ]{{1,60}})?)(?:.*?remote_addr=\S*?/?{_NAMED})?",
        )
        for status in ("UNAVAILABLE", "DEADLINE_EXCEEDED")
    ),
    _all(
        Logged.LEADER_SILENT, "[HeartBeatTimeOut] lastLeaderHeartBeatTime: ",
        "io.openmessaging.storage.dledger.DLedgerLeaderElector",
    ),
    _all(
        Logged.LEADER_MOVED, "preferredLeaderId = ", "io.openmessaging.storage.dledger.DLedgerServer",
        r"preferredLeaderId = (?P<error>\S+ is not online|\S+ transferee fall behind index|\S+ which has the smallest fall behind)",
    ),
    _all(Logged.PORT_TAKEN, "java.net.BindException: Address already in use", "java.net"),
    _all(Logged.STORE_LOCKED, "MQ already started", f"{_ROCKETMQ}.store.DefaultMessageStore"),
    _all(
        Logged.STORE_UNLOADED, "load exception", f"{_ROCKETMQ}.store.DefaultMessageStore", r"[-:\]] ?(?P<said>load exception)\s*$",
    ),
    Wording(
        event=Logged.NO_DIRECTORY, words="disk maybe full soon, so reclaim space, -1.0", by=_CLEAN,
        written="so reclaim space, ", fields=r"(?P<which>\w+) disk maybe full soon.*?-1\.0(?:, storePathPhysic=(?P<path>\S+))?",
    ),
    # Other threads read as well, and a queue that is flushed may begin behind its file.
    _all(
        Logged.DELAY_OFFSET, "Offset not matched. Request offset: ", f"{_ROCKETMQ}.store.MappedFileQueue",
        r"[ \[](?P<thread>ScheduleMessageTimerThread)\S*[\] ].*?Request offset: (?P<offset>\d{1,19})",
    ),
    *(
        _5x(Logged.TIMER_THREW, words, f"{_ROCKETMQ}.store.timer.TimerMessageStore")
        for words in ("Unknown exception in enqueuing", "Unknown error in skipped in enqueuing", "Unknown error in dequeue process")
    ),
    *(
        Wording(
            event=Logged.TIMER_THREW, words=f"Error occurred in Timer{thread}",
            by=f"{_ROCKETMQ}.store.timer.TimerMessageStore$Timer{thread}",
            since="5.0.0", written="Error occurred in ",
        )
        for thread in ("EnqueueGetService", "DequeueGetService")
    ),
    _5x(
        Logged.REVIVE_OFFSET, ", OFFSET_ILLEGAL ", f"{_ROCKETMQ}.broker.processor.PopReviveService",
        r"reviveQueueId=(?P<queue>\d{1,9}), OFFSET_ILLEGAL (?P<offset>-?\d{1,19})",
    ),
    _all(
        Logged.HA_DIVERGED, "master pushed offset not equal the max phy offset in slave, SLAVE: ",
        f"{_ROCKETMQ}.store.ha.HAService$HAClient, {_ROCKETMQ}.store.ha.DefaultHAClient",
    ),
    _all(
        Logged.SLAVE_BEHIND, "lave fall behind master", f"{_ROCKETMQ}.broker.BrokerController",
        r"master\D{1,12}(?P<bytes>\d{1,19}) ?bytes"
    ),
    _all(
        Logged.SLAVE_LACKS, "PULL_OFFSET_MOVED:none correction. ",
        f"{_ROCKETMQ}.broker.processor.PullMessageProcessor, {_ROCKETMQ}.broker.processor.DefaultPullMessageResultHandler",
        r"topic=(?P<topic>[^,]+), groupId=(?P<group>[^,]+), requestOffset=(?P<asked>\d{1,19})",
    ),
)  # fmt: skip
