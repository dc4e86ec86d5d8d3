"""What people ask in their own words, and what is to be looked at, in which order: causes by incident, and commands.

Which cause it is nobody knows from a question; each cause says by what it is told from the others.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Question:
    """``asks`` are patterns of what people write, one of which is enough, by letters of any case.

    ``says`` is the answer where there is one for all, or what has to be told apart. ``causes`` are incidents, each with what it is
    told by, the commonest first; ``do`` are commands in the order in which to type them.
    """

    name: str
    asks: tuple[str, ...]
    says: str
    do: tuple[str, ...]
    causes: Mapping[str, str]

    def matched(self, text: str) -> tuple[int, int]:
        """How many of its patterns a text has, and the letters of the longest; none where it is another question."""
        lengths = [len(found[0]) for one in self.asks if (found := re.search(one, text, re.IGNORECASE))]
        return len(lengths), max(lengths, default=0)


MORE = "lag|lags|lagging|backlog|behind|accumulat\\w*|pil\\w* up|pile|heap up|delay(?!ed|\\s?level)"
TWICE = "twice|duplicat\\w*|repeated\\w*|again and again|more than once|double|two times|re-?consum\\w*"
OF_DATA = r"^(?=.*\b(messages?|msgs?|data|orders?)\b).*\b"
LOST = r"lost|lose|loss|losing|missing|disappear\w*|vanish\w*|gone"
DIED = r"kill\w*|crash\w*|died?|dies|power|fail-?over|reboot\w*"
DELAYED = r"(delay\w*|schedul\w*|timed|timer)"
MESSAGES = r"(messag|consum|receiv|deliver|order|event|sent|listener)\w*"
DEPLOYED = (
    "deploy\\w*|redeploy\\w*|roll-?out|rollout|restart\\w*|rebalanc\\w*|scal\\w+ (up|down|out|in)|new version of our"
)
NOT_CONSUMED = (
    r"\b(not|\w*n.t|nothing|no longer|stop\w*|never|none)\b.{0,30}\b(consum|receiv|get)\w*|"
    r"(consum|receiv)\w*\b.{0,30}\b(nothing|not|no messages?|stop\w*|stuck|hang\w*|idle|zero)"
)

QUESTIONS: tuple[Question, ...] = (
    Question(
        name="a broker is busy",
        asks=(r"\b(system|broker) (is )?busy", r"flow control for a while"),
        says="The broker refused a send to protect itself, and did not store it. The word in brackets says which "
        "guard refused.",
        causes={
            "append-stall": "[TIMEOUT_CLEAN_QUEUE]broker busy: the send had waited for more than "
            "waitTimeMillsInSendQueue (200 ms), mostly behind one slow append.",
            "append-lock-over-1s": "[REJECTREQUEST]system busy, [PCBUSY_CLEAN_QUEUE] or [PC_SYNCHRONIZED]broker "
            "busy: one append held the lock for more than osPageCacheBusyTimeOutMills (1 s).",
            "pool-exhausted": "[REJECTREQUEST]system busy with transientStorePoolEnable=true and quick appends: the "
            "pool has no buffer.",
            "send-queue-full": "[OVERLOAD]system busy: more requests wait than the thread pool's queue takes.",
            "busy-flag-stuck": "[REJECTREQUEST] for each send of a quiet broker, after one failed append.",
        },
        do=(
            "mqlab explain '[WORD]...'  # with the word in brackets of your error",
            "mqlab tune --rate YOURS --log store.log  # the appends that were slow, and what another wait would have "
            "refused",
            "iostat -x 1  # on the broker's host: what the disk does at those seconds",
        ),
    ),
    Question(
        name="which wait to set (waitTimeMillsInSendQueue)",
        asks=(
            r"(which|what|how (long|much|high)|right|best|good)\b.{0,40}\b(wait(?!ing)\w*|waitTimeMills\w*)",
            r"wait\w* .{0,20}(should|to set|setting)",
            r"(raise|increase|tune)\b.{0,30}\bwait\w*",
        ),
        says="It depends on how long your appends stall: a longer wait spares the sends of stalls that are shorter "
        "than it, and none of a stall above osPageCacheBusyTimeOutMills (1 s).",
        causes={"append-stall": "What was measured: claim BUSY-12 for 400 ms, BUSY-09 for stalls below a second."},
        do=(
            "mqlab tune --rate YOURS --log store.log  # from your own store log; --stall 450,1200 without one",
            "mqlab explain BUSY-12",
        ),
    ),
    Question(
        name="a group is behind after a deployment, a restart or a rebalance",
        asks=(
            rf"\b({MORE})\b.*\b({DEPLOYED})\b",
            rf"\b({DEPLOYED})\b.*\b({MORE})\b",
            r"rebalanc\w*.{0,40}(slow|long|minute|stuck|stop\w*|again)",
            rf"\b({DEPLOYED})\b.*({NOT_CONSUMED})",
        ),
        says="See first whether all queues of the group are behind, or those of the instance that went.",
        causes={
            "ordered-lock-handover": "Ordered consumers, and queues of a member that was killed: they stand still "
            "for about a minute, until its locks expire on the broker.",
            "ordered-migration": "The same while an instance is moved: its process ended before consumer.shutdown() "
            "did.",
            "restarted-broker-forgets-consumers": "It was a broker that restarted: its queues wait for the clients' "
            "next heartbeat, half a minute.",
            "same-client-id-in-containers": "Some queues twice and some never: two containers have one client id.",
            "subscriptions-that-differ": "Old and new instances subscribe to different tags or topics under one group.",
            "consumer-too-slow": "All queues: the new version is slower, and its client's log says \"so do flow "
            'control".',
        },
        do=(
            "mqadmin consumerProgress -n NAMESRV -g GROUP  # Diff of each queue, and which client has it",
            "mqadmin consumerConnection -n NAMESRV -g GROUP  # members, their ids and subscriptions",
            "mqlab diagnose LOGS-OF-CLIENTS-AND-BROKERS  # lock.log, rocketmq_client.log, broker.log of that hour",
        ),
    ),
    Question(
        name="a group is behind",
        asks=(
            rf"\b(consumer|group|consumption|messages?|topic|queue)s?\b.*\b({MORE})\b",
            rf"\b({MORE})\b.*\b(consumer|group|consumption|messages?|topic|queue)s?\b",
            r"^\W*(lag|backlog|accumulation)\W*$",
        ),
        says="See first whether all queues are behind or one, and whether its offset moves at all.",
        causes={
            "consumer-too-slow": "All queues, offsets move: the listener is slower than what comes.",
            "one-message-holds-offset": "One queue, and its offset stands: one message hangs in its listener.",
            "consume-timeout": "The listener takes longer than consumeTimeout (15 min), and messages come again.",
            "nothing-pulled": "No pulls: the client waits for a route, a lock, or memory.",
            "queue-number-mismatch": "Queues that nobody has: more write queues than read queues.",
            "ordered-lock-handover": "Ordered consumers after the death of a member: a minute for its queues.",
        },
        do=(
            "mqadmin consumerProgress -n NAMESRV -g GROUP  # Diff of each queue; twice, to see whether it moves",
            "jstack PID | grep -A20 ConsumeMessageThread  # of a consumer, three times: what its threads wait for",
            "mqlab diagnose LOGS-OF-CLIENTS-AND-BROKERS",
        ),
    ),
    Question(
        name="messages are consumed twice",
        asks=(
            rf"{MESSAGES}.*\b({TWICE})",
            rf"\b({TWICE})\b.*{MESSAGES}",
            rf"^\W*({TWICE})( \w+)?\W*$",
            r"same messages?\b.*\b(again|times|both)",
        ),
        says="RocketMQ promises each message at least once, so that a listener has to bear a message that comes "
        "again. Compare the msgId of both: the same id came again from the broker, two ids with one key were "
        "sent twice.",
        causes={
            "async-timeout-stored-twice": "Two ids with one key: the send timed out, was tried again, and both were "
            "stored.",
            "same-client-id-in-containers": "All the time, on some queues: two members have one client id.",
            "consume-timeout": "After consumeTimeout (15 min) in the listener it is sent back though it goes on.",
            "dead-letter": "The listener threw or answered RECONSUME_LATER: it comes again with a growing delay; a "
            "batch comes again as a whole.",
            "restarted-broker-forgets-consumers": "Around a restart of a broker: queues move to others and back.",
            "ordered-lock-handover": "After a kill: offsets are told to the broker every 5 s only "
            "(persistConsumerOffsetInterval).",
            "delayed-again-after-restart": "Delayed messages, after a broker was killed.",
            "recreated-topic-keeps-offsets": "After a topic was deleted and made anew.",
        },
        do=(
            "mqadmin queryMsgById -n NAMESRV -t TOPIC -i MSGID  # of both: one message or two?",
            "mqadmin consumerConnection -n NAMESRV -g GROUP  # are two ClientIds alike?",
            "mqlab audit --namesrv A,B,C  # finds members with one client id",
        ),
    ),
    Question(
        name="may I upgrade",
        asks=(
            r"\bupgrad\w*\b(?!.*(stopp|fail|error|lost|since))",
            r"(safe|risk\w*|what changes|break\w*).{0,40}(from )?\d\.\d+(\.\d+)?.{0,10}(to|->)",
            r"(migrat\w*|move) (from|to) [45]\.",
        ),
        says="What differs between two releases, what of it your file decides, and the order of the nodes: one "
        "command tells it, from findings that were measured on both.",
        causes={
            "rolling-upgrade": "What stands still meanwhile: with two masters, sends fail while the second one "
            "restarts, unless its write permission was taken before."
        },
        do=(
            "mqlab upgrade --from 4.9.7 --to 5.5.0 --broker-conf YOUR-broker.conf  # with your releases",
            "mqlab audit --broker-conf YOUR-broker.conf --release 5.5.0  # what the new release makes of your file",
            "mqlab check --release R  # of a release that is not in the record: an hour on a cluster here",
        ),
    ),
    Question(
        name="what happened",
        asks=(
            r"what (has )?(happened|went wrong|was it|was that|broke)",
            r"(last night|yesterday|post-?mortem|root cause|outage|incident) (of|at|last|yesterday|between)",
            r"(last night|yesterday)",
        ),
        says="The logs of that time tell it: give all that there are, of brokers, name servers and clients, rotated "
        "ones too. Incidents are told with times, brokers, groups, and how sure; without one, the commonest "
        "warnings.",
        causes={},
        do=(
            "mqlab diagnose ~/logs/rocketmqlogs  # of each node a folder of its own; *.gz as they are",
            "mqlab diagnose LOGS --out night.html  # the same as a page that can be sent on",
            "dmesg -T | grep -i -E 'oom|error'  # what the host says of the same minutes",
        ),
    ),
    Question(
        name="the disk is full, or is said to be",
        asks=(
            r"dis[ck]\b.{0,20}\bfull",
            r"no space left",
            r"service not available now",
            r"(disk|store) .{0,20}(usage|space)",
        ),
        says="Compare the ratio in the answer (CL: commit log, CQ: consume queues) with `df -h`. Above "
        "diskSpaceWarningLevelRatio (90 %) the broker refuses each send with CODE 14 until old files are "
        "deleted.",
        causes={
            "store-not-writable": "The ratios are low: something else marked the store, storeerror.log says what.",
            "map-failed": '"Map failed" in storeerror.log: the limit of mappings (vm.max_map_count), or memory, '
            "and not the disk.",
            "disk-ratio-counts-differently": "It came with an upgrade: the newer release counts what the file system "
            "reserves.",
            "store-path-unreadable": "The share is -1.0: the directory cannot be read.",
        },
        do=(
            "df -h STORE; df -i STORE  # on the broker's host",
            "mqadmin brokerStatus -n NAMESRV -b ADDRESS  # commitLogDiskRatio, runtime flags",
            "mqadmin deleteExpiredCommitLog -n NAMESRV -b ADDRESS  # deletes files past fileReservedTime now; lower "
            "fileReservedTime first if none is",
        ),
    ),
    Question(
        name="a topic has no route, or does not exist",
        asks=(
            r"no (topic )?route",
            r"topic\b.{0,30}\b(not|n.t|no longer) (exist\w*|there|found|known)",
            r"(cannot|can.?t|could not) find .{0,20}topic",
            r"topics?\b.{0,20}\b(vanish|disappear|gone|missing)\w*",
        ),
        says="Ask the very name servers that the client has. Either none knows the topic, or one of them does not, "
        "or its broker has left.",
        causes={
            "topic-without-route": "No name server has it: it was never made (autoCreateTopicEnable=false), or in "
            "another namespace.",
            "name-server-divergence": "One name server has it and another one not.",
            "name-server-restart-hides-topics": "A name server has just started: topics come back with the brokers' "
            "next registration.",
            "retry-topic-flood": "All topics of one broker are gone while it runs: its registration is too long.",
            "broker-gone": "Its broker is dead, and no other one has the topic.",
        },
        do=(
            "mqadmin topicRoute -n NAMESRV -t TOPIC  # once for each name server alone",
            "mqadmin clusterList -n NAMESRV  # is the broker there?",
            "mqlab audit --namesrv A,B,C  # compares the name servers, and predicts the limit of a registration",
        ),
    ),
    Question(
        name="sends time out",
        asks=(
            r"send\w*\b.{0,40}\btime\w*\s?-?out",
            r"time\w*\s?-?out.{0,40}\bsend",
            r"sendDefaultImpl",
            r"(wait|invoke\w*) .{0,30}time\w*\s?-?out",
            r"time\w*\s?-?out\D{0,5}3000",
        ),
        says="sendMsgTimeout, 3000 ms by default, is for all tries of a send together. Which of four it is: the "
        "address cannot be reached, the broker stands still, the disk is slow, or the client itself does not "
        "get to it.",
        causes={
            "broker-address-unreachable": "Each send, always: the broker has registered an address (brokerIP1) or "
            "port that this client does not reach.",
            "avoidance-in-outages": "Some sends, from one moment on: a broker is dead or stands still, and the first "
            "try uses the time up.",
            "append-stall": "Now and then, together with broker busy: slow appends.",
            "sync-flush-one-thread": "Under load with SYNC_FLUSH: one flush a message.",
            "async-timeout-stored-twice": "Asynchronous sends: what timed out may be stored all the same.",
        },
        do=(
            "mqadmin clusterList -n NAMESRV  # the address that the broker has registered",
            "nc -vz ADDRESS 10911; nc -vz ADDRESS 10909  # from the client's host",
            "mqlab advise sends --release R  # settings for each failure",
            "mqlab diagnose LOGS-OF-CLIENTS-AND-BROKERS",
        ),
    ),
    Question(
        name="consumers get nothing",
        asks=(NOT_CONSUMED, r"cons?umer\b.{0,20}\b(stuck|hang\w*|idle)"),
        says="See first who is a member, whether its offset moves, and whether there is anything to consume.",
        causes={
            "subscriptions-that-differ": "Members of one group subscribe to different topics or tags.",
            "same-client-id-in-containers": "Some queues never: two members have one client id.",
            "nothing-pulled": "The client waits for a route or a lock, or has its memory full.",
            "one-message-holds-offset": "One message hangs in the listener.",
            "offset-past-the-end": "The group's offset lies beyond the queue's end, after a power loss or a topic "
            "made anew.",
            "queue-number-mismatch": "Messages lie in queues that are not read.",
            "last-offset-reads-history": "A new group: where it starts is consumeFromWhere's to say, for its first "
            "start alone.",
            "requests-not-authorised": "Access control refuses it: the client's log names the account.",
            "orderly-start-waits": "Ordered consumers, in the first seconds.",
            "slave-serves-no-reads": "The master is dead, and its slave answers no pulls (slaveReadEnable).",
        },
        do=(
            "mqadmin consumerConnection -n NAMESRV -g GROUP  # members and subscriptions",
            "mqadmin consumerProgress -n NAMESRV -g GROUP  # Diff of each queue; negative is an offset past the end",
            "mqadmin topicStatus -n NAMESRV -t TOPIC  # is anything there?",
            "mqlab audit --namesrv A,B,C --ask-clients  # members that differ",
        ),
    ),
    Question(
        name="numbers of queues differ",
        asks=(
            r"queue\w*\b.{0,40}\b(differ\w*|mismatch\w*|not (the same|equal)|unequal|count|number)",
            r"(number|count)s? of .{0,15}queues?",
            r"(read|write)\s?queue(s|nums)",
            r"(shrink|reduce|increase)\b.{0,30}\bqueues",
        ),
        says="A topic has write queues and read queues. With fewer read than write queues the messages of the rest "
        "are never consumed; each broker has its own numbers.",
        causes={
            "queue-number-mismatch": "Whether messages lie where nobody reads.",
            "broker-leaves-keys-move": "Whether keys move when the number of queues changes.",
        },
        do=(
            "mqadmin topicRoute -n NAMESRV -t TOPIC  # readQueueNums and writeQueueNums of each broker",
            "mqlab audit --namesrv A,B,C  # topics whose numbers differ",
            "mqadmin updateTopic -n NAMESRV -c CLUSTER -t TOPIC -r 8 -w 8  # equal; to shrink take -w down first, -r "
            "when they are empty",
        ),
    ),
    Question(
        name="a slave is not available, or does not follow",
        asks=(
            r"slave.{0,20}(not available|n.t available|unavailable|fall\w*|behind|lag\w*|not sync\w*|not cop\w*|down|dead)",
            r"replica\w* (lag|behind)",
            r"FLUSH_SLAVE_TIMEOUT",
        ),
        says="A SYNC_MASTER has stored the message and has no slave that follows closely enough: the message is "
        "there, and the client need not send it again. Until the slave follows there is one copy.",
        causes={
            "slave-diverged": 'The slave\'s store.log repeats "master pushed offset not equal the max phy offset": '
            "it will never follow.",
            "slave-lacks-messages": "The master died while the slave was behind.",
            "sync-master-acknowledges-alone": "No error at all, though the slave is down: inSyncReplicas is 1.",
        },
        do=(
            "mqadmin brokerStatus -n NAMESRV -b MASTER  # and of the slave: commitLogMaxOffset of both",
            'mqadmin haStatus -n NAMESRV -b MASTER  # releases that have it; else "fall behind" in the master\'s '
            "broker.log",
            "mqlab explain SLAVE_NOT_AVAILABLE",
        ),
    ),
    Question(
        name="messages are lost after a broker died",
        asks=(
            rf"{OF_DATA}({LOST})\b.{{0,50}}\b({DIED}|restart\w*|oom)",
            rf"{OF_DATA}({DIED})\b.{{0,50}}\b({LOST})",
            r"messages?\b.{0,20}\b(lost|missing|disappear\w*)",
            r"lost messages?",
        ),
        says="First what was promised: which sends were answered SEND_OK. Then what died: a process alone loses "
        "nothing of the page cache.",
        causes={
            "pool-loss": "transientStorePoolEnable=true: what was acknowledged and not yet copied to the page cache "
            "died with the process.",
            "sync-flush-power-loss": "The machine lost its power with ASYNC_FLUSH: what was not flushed is gone.",
            "sync-master-acknowledges-alone": "The master is lost, and a SYNC_MASTER had answered without its slave.",
            "pool-loss-slave": "The master is lost, and an ASYNC_MASTER's slave had not copied it.",
            "busy-broker-of-two": "They were never stored: sends were refused, and the application did not look at "
            "the answer.",
            "dead-letter": "They were consumed and failed: see %DLQ%GROUP.",
            "subscriptions-that-differ": "They are there, and nobody gets them: members subscribe differently.",
        },
        do=(
            "mqadmin queryMsgByKey -n NAMESRV -t TOPIC -k KEY  # is it stored at all?",
            "mqlab audit --broker-conf YOUR-broker.conf  # which deaths lose messages with your settings",
            "mqlab diagnose LOGS-OF-CLIENTS-AND-BROKERS",
        ),
    ),
    Question(
        name="too many retry topics",
        asks=(
            r"(too many|very many|thousands of|lots of|flood of|number of|many)\b.{0,20}\b(retry|topics)",
            r"%?RETRY%?.{0,20}(topics?|many|delet\w*|clean\w*)",
        ),
        says="Each group that consumed has a topic %RETRY%GROUP, which stays. All topics of a broker are in one "
        "registration; beyond the name server's frame limit (16 MiB) the broker leaves its routes.",
        causes={
            "retry-topic-flood": "A broker leaves all routes while it runs.",
            "dead-letter": "What a retry topic is for.",
        },
        do=(
            "mqlab audit --namesrv A,B,C  # topics by type, the length of each registration, when growth reaches the "
            "limit",
            "mqlab explain TOPICS-06  # why deleting those of offline groups is not safe",
        ),
    ),
    Question(
        name="a group is not online, or its offsets are to be reset",
        asks=(
            r"not online",
            r"reset\w*\b.{0,30}\boffset",
            r"offset\w*\b.{0,30}\breset",
            r"skip .{0,30}(messages|backlog)",
        ),
        says="CODE 206: no member of the group is connected to the broker that was asked, or its heartbeat has not "
        "come yet. Offsets are reset by time, for a group that is there or not.",
        causes={
            "group-never-known": "No broker has heard of the group: the name, the namespace or the cluster is another.",
            "restarted-broker-forgets-consumers": "Within half a minute of a broker's restart.",
            "reset-offset-stops-consumption": "After a reset members stand still for ten seconds.",
            "requests-not-authorised": "The client's heartbeats are refused.",
        },
        do=(
            "mqadmin consumerConnection -n NAMESRV -g GROUP  # who is there",
            "mqadmin resetOffsetByTime -n NAMESRV -g GROUP -t TOPIC -s now  # or a time as yyyy-MM-dd#HH:mm:ss:SSS",
            "mqlab explain reset-offset-stops-consumption",
        ),
    ),
    Question(
        name="clients go on using a broker that is dead",
        asks=(
            r"\b(connect|send|rout|us|pull)\w*\b.{0,40}\b(dead|gone|removed|stopped|killed|down|old) (broker|master)",
            r"(broker|master)\b.{0,30}\b(dead|gone|down|removed|stopped|killed)\b.{0,60}\b(still|connect\w*|client\w*|route)",
            r"still\b.{0,30}\b(connect|send)\w*",
        ),
        says="A broker whose process dies leaves the routes as its connection closes; one whose host or network is "
        "gone stays in them for two minutes. Clients ask for routes every 30 s (pollNameServerInterval). Until "
        "then only their retries help.",
        causes={
            "broker-gone": "It was killed or cut off: RemotingConnectException.",
            "broker-killed": "It is back and gets nothing for a while.",
            "avoidance-in-outages": "What a producer's settings do about it.",
            "slave-serves-no-reads": "Consumers: its backlog is with its slave.",
        },
        do=(
            "mqadmin clusterList -n NAMESRV  # does the name server still have it?",
            "mqadmin wipeWritePerm -n NAMESRV -b BROKERNAME  # before a planned stop: producers leave it first",
            "mqlab advise sends --release R",
        ),
    ),
    Question(
        name="a queue cannot be locked",
        asks=(
            r"lock\w*\b.{0,40}\b(queue|mq|messagequeue)\b",
            r"(queue|mq)\b.{0,20}\block\w*",
            r"(tryLock|lockBatch)\w*",
        ),
        says="Ordered consumers lock each queue at its broker. Another client has the lock: one that lives, or one "
        "that died and whose lock expires (60 s on the broker) before anybody gets it.",
        causes={
            "ordered-lock-handover": "A member was killed: its queues stand still until its locks expire.",
            "ordered-migration": "A member was stopped, and its process ended before consumer.shutdown() did.",
            "orderly-start-waits": "It has the lock, and consumes nothing in its first seconds.",
            "same-client-id-in-containers": "Two members have one client id.",
        },
        do=(
            "mqlab diagnose LOGS-OF-CLIENTS-AND-BROKERS  # lock.log names who waits and whose lock it is",
            "mqlab tune ordered-lock-tuning  # shorter locks, and their price",
            "mqadmin consumerConnection -n NAMESRV -g GROUP",
        ),
    ),
    Question(
        name="delayed messages come late or never",
        asks=(
            rf"{DELAYED}\b.{{0,20}}\b(messages?|level\w*|delivery)\b.{{0,40}}\b(late|never|not|lost|stuck|again|missing)",
            r"(late|never)\b.{0,40}\b(delay\w*|schedul\w*|timer)\b",
            r"delay\w* messages?",
        ),
        says="Delay levels and delivery times are two mechanisms: levels are queues of SCHEDULE_TOPIC_XXXX, times "
        "are the timer wheel's.",
        causes={
            "delayed-messages-stuck": "A level's offset stands still: see config/delayOffset.json and the level's "
            "queue.",
            "delayed-message-fails-once": 'An exception in the delivery ("messageTimeup execute error"): what it '
            "costs depends on the release.",
            "delayed-again-after-restart": "They came a second time after a broker was killed.",
            "timer-messages-stuck": "Messages with a delivery time: the timer does not move.",
        },
        do=(
            "mqadmin topicStatus -n NAMESRV -t SCHEDULE_TOPIC_XXXX  # the end of each level's queue",
            "mqlab diagnose LOGS-OF-BROKERS  # broker.log and storeerror.log",
            "mqadmin getBrokerConfig -n NAMESRV -b ADDRESS  # messageDelayLevel and timer settings in force",
        ),
    ),
    Question(
        name="order is broken",
        asks=(r"out of order", r"order (is )?(broken|lost|wrong|not kept)", r"(not|wrong) (in )?order"),
        says="Order holds within one queue, for one ordered consumer, while the key's queue stays the same.",
        causes={
            "broker-leaves-keys-move": "A broker left: the number of queues changed, and keys went to others.",
            "ordered-lock-handover": "A queue went to another member while the first still worked on it.",
            "send-retries-python": "Python's client sent an ordered message to another queue at its retry.",
        },
        do=(
            "mqadmin topicRoute -n NAMESRV -t TOPIC  # how many queues at which brokers, then and now",
            "mqlab diagnose LOGS-OF-CLIENTS-AND-BROKERS",
        ),
    ),
    Question(
        name="transactional messages do not come, or come again",
        asks=(r"transaction\w*\b.{0,40}\b(not|never|stuck|late|again|twice|lost|half)", r"half messages?"),
        says="A half message waits until its producer commits, or until the broker asks (transactionCheckInterval: a "
        "minute on 4.6.0 and 4.9.7, 30 s on 5.3.3 and 5.5.0) and a producer of that group answers.",
        causes={
            "pool-loses-transaction-commits": 'transientStorePoolEnable=true: "selectMappedBuffer request pos '
            'invalid".',
            "delete-topic-rechecks-transactions": "A topic was deleted, and old transactions are asked about again.",
            "idle-broker-burns-cpu": "Beside it: a broker takes a core after its first transaction.",
        },
        do=(
            "mqadmin producerConnection -n NAMESRV -g PRODUCER-GROUP -t TOPIC  # is a producer of the group there to "
            "answer?",
            "mqlab diagnose LOGS-OF-BROKERS",
        ),
    ),
    Question(
        name="a broker does not start",
        asks=(
            r"(broker|name ?server|mqbroker|namesrv|node)\b.{0,20}\b(does|will|did|can|could)?\s?(not|n.t|cannot) start",
            r"(fail\w*|cannot|can.?t|unable) to start",
            r"start\w*\b.{0,20}\bfail",
        ),
        says="The reason is on its standard output or in the last lines of broker.log, store.log or storeerror.log.",
        causes={
            "port-taken": '"Address already in use".',
            "store-locked": '"Lock failed,MQ already started": another process has the store.',
            "store-not-loaded": "The store cannot be loaded.",
            "jvm-without-memory": "The JVM gets no memory: runbroker.sh asks for more than the host has.",
            "direct-memory-full": "OutOfMemoryError: Direct buffer memory.",
        },
        do=(
            "tail -50 ~/logs/rocketmqlogs/broker.log ~/logs/rocketmqlogs/store*.log",
            "mqlab audit --broker-conf YOUR-broker.conf --release R  # values for which this release ends as it starts",
            "ss -ltnp 'sport = :10911'",
        ),
    ),
    Question(
        name="memory is short",
        asks=(
            r"out of memory|outofmemory|\boom\b|oom-?kill",
            r"(heap|direct|memory)\b.{0,20}\b(full|short|exhausted|exceeded|leak)",
        ),
        says="The heap, direct memory, threads, mappings, or the host's own: the words beside OutOfMemoryError say which.",
        causes={
            "heap-full": '"Java heap space", or long pauses of the garbage collector.',
            "direct-memory-full": '"Direct buffer memory": -XX:MaxDirectMemorySize, or a pool of buffers.',
            "process-killed-for-memory": "No last line in any log, and the kernel's log names the process.",
            "jvm-without-memory": "It does not even start.",
            "no-more-threads": '"unable to create new native thread".',
            "map-failed": '"Map failed": mappings (vm.max_map_count), with memory left.',
        },
        do=(
            "dmesg -T | grep -i -E 'oom|killed process'  # on the host, or `kubectl describe pod`",
            "mqlab diagnose LOGS-OF-BROKERS",
            "jstat -gcutil PID 1000  # while it runs",
        ),
    ),
    Question(
        name="a message is too long",
        asks=(
            r"messages?\b.{0,30}\b(too (big|large|long)|size|length|exceed\w*)",
            r"(big|large|maximum|max) (size of )?messages?",
        ),
        says="Producer and broker have a maxMessageSize each, 4 MiB by default; the smaller one counts.",
        causes={"message-too-long": "CODE 13 comes from the broker; without a code the producer itself refused."},
        do=(
            "mqadmin getBrokerConfig -n NAMESRV -b ADDRESS  # its maxMessageSize",
            "mqlab explain maxMessageSize",
        ),
    ),
    Question(
        name="is my broker.conf right",
        asks=(
            r"(broker\.?\s?conf|config\w*|settings?|properties)\b.{0,30}\b(ok|right|correct|safe|wrong|check\w*|review)",
            r"(check|review|audit)\b.{0,30}\b(broker\.?\s?conf|config\w*|settings?)",
        ),
        says="Each key is judged as the release's own classes read it, and each value by what it does.",
        causes={},
        do=(
            "mqlab audit --broker-conf YOUR-broker.conf --release R",
            "mqlab upgrade --from A --to B --broker-conf YOUR-broker.conf",
        ),
    ),
)
