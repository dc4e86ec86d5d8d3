"""By which events in logs each incident is known, or why by none: what ``mqlab diagnose`` looks for."""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.log_events import Logged, Sign

SIGNS: tuple[Sign, ...] = (
    Sign(
        incident="append-stall",
        events=(Logged.SLOW_APPEND, Logged.REFUSED_FOR_AGE),
        because="sends that wait for longer than waitTimeMillsInSendQueue are refused ([TIMEOUT_CLEAN_QUEUE]); it takes no append "
        "of a second",
        advice="See in the store log what the appends took; more waitTimeMillsInSendQueue has fewer of "
        "them while stalls are shorter than osPageCacheBusyTimeOutMills.",
        fixes=("BUSY-12",),
    ),
    Sign(
        incident="append-lock-over-1s",
        events=(Logged.SLOW_APPEND, Logged.REFUSED_FOR_CACHE,),
        because="while an append holds the lock for longer than osPageCacheBusyTimeOutMills, or the transient store pool is empty, "
        "sends are refused for the page cache ([PCBUSY_CLEAN_QUEUE], [PC_SYNCHRONIZED], [REJECTREQUEST])",
        advice="Look at what the disk did at those times.",
        fixes=("BUSY-04", "BUSY-02"),
    ),
    Sign(
        incident="busy-flag-stuck",
        events=(Logged.APPEND_THREW,),
        because="an append threw an exception inside the put lock; 4.6.0 and 5.3.3 then refuse each send that comes more than a "
        "second after the one before ([REJECTREQUEST]), for 10,000 s",
        advice="If sends are refused, raise osPageCacheBusyTimeOutMills until one is stored, and set it back; see the exception.",
        fixes=("X-busy-flag-stuck-03",),
    ),
    Sign(
        incident="delayed-message-fails-once",
        events=(Logged.DELIVERY_THREW,),
        because="the delivery of a delayed message threw an exception; 4.6.0 and 5.x go on with the message after it. An error "
        "leaves no line on 4.x, and ends the level or all of them",
        advice="Compare what was sent with what came. If delayed messages stay away, restart the broker.",
        fixes=("X-delayed-message-fails-once-04",),
    ),
    Sign(
        incident="recreated-topic-keeps-offsets",
        events=(Logged.TOPIC_DELETED, Logged.TOPIC_MADE, Logged.OFFSET_PAST_END),
        because="a topic was deleted and made again; on 4.x its groups go on from where they were in the one before, and skip what "
        "lies below",
        advice="Before a group comes back, set its offsets in the new topic to 0, or give it another name.",
        fixes=("X-recreated-topic-keeps-offsets-03",),
    ),
    Sign(
        incident="delete-topic-rechecks-transactions",
        events=(Logged.OP_QUEUE_DELETED,),
        because="with a topic that was deleted went the queue that says which transactions have ended: 4.6.0 asks about those "
        "again, and delivers committed messages twice",
        advice="Make the topic RMQ_SYS_TRANS_OP_HALF_TOPIC on each broker (mqadmin updateTopic), and it stays.",
        fixes=("X-delete-topic-rechecks-transactions-04",),
    ),
    Sign(
        incident="pool-loses-transaction-commits",
        events=(Logged.HALF_UNREADABLE,),
        because="a transaction was to be ended whose half message lay in the transient store pool: it stays undecided until the "
        "broker asks about it",
        advice="transientStorePoolEnable=false for brokers with transactions, or commitCommitLogLeastPages=0.",
        fixes=("X-pool-loses-transaction-commits-03", "X-pool-loses-transaction-commits-04"),
    ),
    Sign(
        incident="reset-offset-stops-consumption",
        events=(Logged.OFFSETS_RESET,),
        because="members of a group were told to reset their offsets, and each stops for 10 s then; 5.5.0 spares ordered ones that",
        advice="Reset offsets while the group is away, or with brokers of 5.x and useServerSideResetOffset=true, its default.",
        fixes=("X-reset-offset-stops-consumption-05",),
    ),
    Sign(
        incident="send-queue-full",
        events=(Logged.REFUSED_FULL, Logged.POOL_BUSY),
        because="the send queue was full ([OVERLOAD], sendThreadPoolQueueCapacity)",
        advice="More arrived than the send threads took: look at what they waited for.",
        fixes=("BUSY-15",),
    ),
    Sign(
        incident="pool-exhausted",
        events=(Logged.POOL_LOW, Logged.POOL_EMPTY),
        because="the transient store pool ran short; without a free buffer every send is refused ([REJECTREQUEST])",
        advice="A larger transientStorePoolSize; one or two buffers are never enough.",
        fixes=("POOL-03",),
    ),
    Sign(
        incident="pool-loss",
        events=(Logged.KILLED,),
        because="a broker came back without having been shut down; with transientStorePoolEnable what lay in its buffers is gone",
        advice="Compare what producers were told was stored with what is there; without the pool a killed process loses nothing.",
        fixes=("POOL-06",),
    ),
    Sign(
        incident="page-cache-stress",
        events=(Logged.FILE_TIMEOUT,),
        because="commit-log files were not made within 5 s, while an append waited for them",
        advice="The file system stands still at times: look at the disk and at who else writes to it.",
        fixes=("BUSY-04", "POOL-02"),
    ),
    Sign(
        incident="ordered-lock-handover",
        events=(Logged.LOCK_WAITED,),
        because="ordered consumers asked for queues that another client had locked. A few such lines at a rebalance are ordinary; "
        "the same queue for tens of seconds has lost a consumer that was killed",
        advice="Let consumer.shutdown() end before the process does. For crashes, shorten the locks: start brokers with "
        "-Drocketmq.broker.rebalance.lockMaxLiveTime=15000 and clients with -Drocketmq.client.rebalance.lockInterval=5000.",
        fixes=("ORDER-06", "ORDER-07"),
    ),
    Sign(
        incident="orderly-start-waits",
        events=(Logged.PULL_PUT_OFF, Logged.QUEUE_ASSIGNED),
        because="a member of an ordered group was assigned queues with their locks, and put their pulls off as not locked until "
        "its lock timer had asked again (rocketmq.client.rebalance.lockInterval, 20 s); clients of 4.6.0 do so, newer ones do not",
        advice="Upgrade the members of ordered groups to 4.9.7 or newer; their brokers may stay.",
        fixes=("X-orderly-start-waits-02",),
    ),
    Sign(
        incident="retry-topic-flood",
        events=(Logged.FRAME_TOO_LONG,),
        because="a request was longer than the receiver's frame limit (com.rocketmq.remoting.frameMaxLength); to a name server it "
        "is a registration with too many topics, whose broker drops out",
        advice="`mqlab audit --namesrv ...` counts topics by type and predicts the limit.",
        fixes=("TOPICS-03", "TOPICS-15"),
    ),
    Sign(
        incident="dead-letter",
        events=(Logged.DEAD_LETTERS,),
        because="a group's first dead letter made its topic (%DLQ%); those after it leave no line",
        advice="Read the topic %DLQ% of the group, and its consumers' logs for why the messages failed.",
    ),
    Sign(
        incident="queue-number-mismatch",
        events=(Logged.TOPIC_MADE, Logged.TOPIC_CHANGED),
        because="a topic has other numbers of write than of read queues: what goes to a queue that nobody reads is not consumed",
        advice="Make the numbers equal; to shrink a topic take the write queues away first, and the read queues when they are "
        "empty.",
        fixes=("QUEUES-04",),
    ),
    Sign(
        incident="name-server-divergence",
        events=(Logged.NOT_REGISTERED, Logged.REGISTERED, Logged.BROKER_WENT),
        because="a broker registered with one name server and not with another, so that they list different brokers",
        advice="Give clients all name servers, and look at the way from the broker to the one that does not hear of it.",
        fixes=("NAMES-04",),
    ),
    Sign(
        incident="broker-leaves-keys-move",
        events=(Logged.BROKER_WENT, Logged.BROKER_CAME),
        because="a broker left the route and came back: a key of ordered messages has another queue meanwhile",
        advice="Where order matters, send to a fixed queue or by an order topic, and let sends fail while the broker is away.",
        fixes=("ORDER-13",),
    ),
    Sign(
        incident="same-client-id-in-containers",
        events=(Logged.CONSUMER_CAME, Logged.CONSUMER_WENT),
        because="a client id connected again while it was connected: two members with one id get the same queues, others nobody",
        advice="Give each container's client an instance name of its own; clients of 4.9.7 and newer have one by themselves.",
        fixes=("X-same-client-id-in-containers-03",),
    ),
    Sign(
        incident="restarted-broker-forgets-consumers",
        events=(Logged.BOOTED, Logged.GROUP_UNKNOWN),
        because="a broker that has started knows a group when a client tells it of itself, every 30 s, and refuses its pulls until "
        "then. A client of 4.x whose pull waited at the broker as it died comes late as well, and leaves no line",
        advice="Upgrade the clients to 5.x, which tell a broker of themselves when they connect; a shorter "
        "heartbeatBrokerInterval has nobody back sooner.",
        fixes=("X-restarted-broker-forgets-consumers-04", "X-restarted-broker-forgets-consumers-03"),
    ),
    Sign(
        incident="subscriptions-that-differ",
        events=(Logged.SUBSCRIPTION_CHANGED, Logged.SUBSCRIPTION_REMOVED),
        because="the subscription of a group changed to and fro: its members subscribe to different tags or topics, of which the "
        "broker keeps one",
        advice="Let all members of a group subscribe to the same, or give each subscription a group of its own.",
        fixes=("X-subscriptions-that-differ-02", "X-subscriptions-that-differ-03"),
    ),
    Sign(
        incident="sync-master-acknowledges-alone",
        events=(Logged.SLAVE_SILENT,),
        because="a master gave up a slave that had said nothing for 20 s (haHousekeepingInterval); a SYNC_MASTER of 5.x "
        "acknowledged all sends meanwhile unless inSyncReplicas is above 1",
        advice="Compare the largest offsets of master and slave before the master is given up; inSyncReplicas=2 has 5.x wait.",
        fixes=("X-sync-master-acknowledges-alone-03", "X-sync-master-acknowledges-alone-04"),
    ),
    Sign(
        incident="slave-serves-no-reads",
        events=(Logged.PULL_FAILED,),
        because="a client that knows no live master asked a slave of 5.x, which refuses each pull while slaveReadEnable is false, "
        "the default, and writes nothing of it itself",
        advice="Set slaveReadEnable=true on slaves: their backlog is read while the master is dead, though by no ordered consumer.",
        fixes=("X-slave-serves-no-reads-02", "X-slave-serves-no-reads-03"),
    ),
    Sign(
        incident="disk-ratio-counts-differently",
        events=(Logged.DISK_FULL, Logged.FILES_FORCED),
        because="the disk's share was above 0.90, where sends are refused, or above 0.85, where files go whatever their age; "
        "4.9.2 and newer count what the file system reserves for root as if it were not there, older ones as free",
        advice="Compare with df, and with what is reserved (tune2fs -l); tune2fs -m 0, or more room.",
        fixes=("X-disk-ratio-counts-differently-03", "X-disk-ratio-counts-differently-04"),
    ),
    Sign(
        incident="async-timeout-stored-twice",
        events=(Logged.SENT_AGAIN,),
        because="a client of 4.6.0 sent messages again to another broker when one did not answer within sendMsgTimeout; the first "
        "broker stores them as well when it goes on. Newer clients end with an error, and leave no line of what is stored",
        advice="Look for keys that came twice; retryTimesWhenSendAsyncFailed=0, or a sendMsgTimeout longer than the standstill.",
        fixes=("X-async-timeout-stored-twice-04", "X-async-timeout-stored-twice-05"),
    ),
    Sign(
        incident="avoidance-mended",
        events=(Logged.NO_TIME_LEFT,),
        because="sends that had waited for their whole timeout at a broker that stands still were tried again with no time left; "
        "with sendLatencyFaultEnable the broker that is well is avoided for it, too",
        advice="On 5.x set sendMsgMaxTimeoutPerRequest to well under the timeout; on 4.x retryTimesWhenSendFailed=0 spares the "
        "broker that is well.",
        fixes=("X-avoidance-mended-01", "X-avoidance-mended-04"),
    ),
    Sign(
        incident="offset-past-the-end",
        events=(Logged.OFFSET_PAST_END,),
        because="a group asked for an offset beyond the end of its queue, which has lost its last messages: 4.6.0 has it begin at "
        "0, newer releases at the end. One that the queue has reached again leaves no line",
        advice="Compare what was sent since the broker's return with what was consumed; set the group's offsets back where some is "
        "missing.",
        fixes=("X-offset-past-the-end-04",),
    ),
)  # fmt: skip
"""In the wordings of 4.x and 5.x, as the incidents' own runs left them."""

SILENT: Mapping[str, str] = {
    "dispatch-thread-dies": "The error goes to the broker's standard error alone: look there for ReputMessageService, and at how "
    "far the dispatch is behind (mqadmin brokerStatus, dispatchBehindBytes).",
    "delayed-again-after-restart": "Deliveries leave no line: look at when the broker started, at its first line of how it ended "
    "(last shutdown abnormally), and at what was due in the 10 s before.",
    "all-brokers-avoided": "Which brokers a producer avoids is in its memory: count by broker what arrives while all are slow.",
    "avoidance-in-outages": "Whether a producer avoids brokers is in no log: compare what two producers of an outage went through.",
    "broker-killed": "That a producer avoids a broker is in no log: after the lines of a broker that was gone, see when it is sent "
    "to again.",
    "broker-slow": "That a producer avoids a broker is in no log: look for a broker that gets nothing for seconds or minutes after "
    "one slow send.",
    "last-offset-reads-history": "Where a group began is in no log: compare its first offsets with those of the queues (mqadmin "
    "consumerProgress) as it starts.",
    "name-server-restart-hides-topics": "No log names the topics that are hidden: ask each name server for its topics, and compare "
    "them with the broker's own.",
    "ordered-lock-ratio": "An owner that stood still and came back leaves the lines of ordered-lock-handover; its JVM's log "
    "has the pause.",
    "ordered-lock-tuning": "Settings of locks leave no line: ask the brokers and clients for lockMaxLiveTime and lockInterval.",
    "ordered-lock-restart": "A broker that starts has no locks and says nothing of it: look at when it started, and at which "
    "clients took their queues then.",
    "ordered-migration": "An instance that is moved leaves the lines of ordered-lock-handover.",
    "busy-broker-of-two": "Nothing but the lines of append-stall and append-lock-over-1s, of one broker only: compare the brokers.",
    "pool-loss-slave": "Brokers do not say which messages a slave lacks: compare the queues' largest offsets on master and slave.",
    "send-retries": "Brokers write nothing of it: a client's log has each attempt that failed, with its broker (sendKernelImpl "
    "exception, resend at once).",
    "send-retries-python": "Brokers write nothing of it: the library's log below ~/logs/rocketmq-cpp has each attempt that failed, "
    "with its broker (send failed of times).",
    "sync-flush-one-thread": "Brokers write of the refused sends alone, as in append-stall: ask for flushDiskType and "
    "sendMessageThreadPoolNums, and see how long the disk takes for a flush.",
    "idle-broker-burns-cpu": "No log tells of it: top -H -p PID of the broker has a thread named TransactionalOp at the top.",
    "sync-flush-power-loss": "What a power loss took is in no log: compare what producers were told was stored with what is there.",
    "rolling-upgrade": "A broker that is told to end says so and is fine: compare when each master was away with what producers "
    "failed to send, and wait for half a minute between two masters.",
    "page-cache-pressure": "Dirty memory leaves the lines of append-stall at most: look at /proc/vmstat and at the disk.",
}
"""Incidents that leave no line of their own in the stock logs of any release, and what to look at instead."""
