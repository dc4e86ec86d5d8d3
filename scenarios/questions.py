"""What people ask in their own words, and what is to be looked at, in which order: causes by incident, and commands.

Which cause it is nobody knows from a question; each cause says by what it is told from the others.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Question:
    """``asks`` are patterns of what people write, one of which is enough, by letters of any case.

    ``lines`` are patterns of what RocketMQ itself writes about it: a line of a log that has one is told with this answer.
    ``says`` is the answer where there is one for all, or what has to be told apart. ``causes`` are incidents, each with what it is
    told by, the commonest first; ``do`` are commands in the order in which to type them.
    """

    name: str
    asks: tuple[str, ...]
    says: str
    do: tuple[str, ...]
    causes: Mapping[str, str]
    lines: tuple[str, ...] = ()

    def matched(self, text: str) -> tuple[int, int]:
        """How many of its patterns a text has, and the letters of the longest; none where it is another question."""
        lengths = [len(found[0]) for one in self.asks if (found := re.search(one, text, re.IGNORECASE))]
        return len(lengths), max(lengths, default=0)

    def has_line(self, text: str) -> bool:
        """Whether a text has what RocketMQ writes about it."""
        return any(re.search(one, text) for one in self.lines)


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
        asks=(r"(系统|broker).{0,4}(繁忙|忙)|流控|限流", r"\b(system|broker) (is )?busy", r"flow control for a while"),
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
            r"(等待|排队)时间.{0,6}(设|配|多少|多大)",
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
            r"(部署|发布|发版|上线|重启|扩容|重平衡|负载均衡).*(堆积|积压|延迟|不消费)",
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
            r"堆积|积压|消费.{0,4}(延迟|慢)",
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
            r"重复",
            rf"{MESSAGES}.*\b({TWICE})",
            rf"\b({TWICE})\b.*{MESSAGES}",
            rf"^\W*({TWICE}|dups?)( \w+)?\W*$",
            r"same messages?\b.*\b(again|times|both)",
        ),
        says="RocketMQ promises each message at least once, so that a listener has to bear a message that comes "
        "again. Ask for its key: one row is one stored message, which the broker delivered twice. Two rows were "
        "stored twice: with one msgId by the client's own retry, with two by an application that sent again.",
        causes={
            "async-timeout-stored-twice": "Two rows with one msgId: the send timed out, was tried again, and both "
            "were stored.",
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
            "mqadmin queryMsgByKey -n NAMESRV -t TOPIC -k KEY  # a row for each stored message: msgId, queue, offset",
            "mqadmin consumerConnection -n NAMESRV -g GROUP  # are two ClientIds alike?",
            "mqlab audit --namesrv A,B,C  # finds members with one client id",
        ),
    ),
    Question(
        name="may I upgrade",
        asks=(
            r"升级(?!后)",
            r"\d\.\d+(\.\d+)? ?(to|->|→|到) ?\d\.\d+",
            r"what (breaks|changes|is new|differs)\b.{0,40}\b\d\.\d+",
            r"\bupgrad\w*\b(?!.*(stopp|fail|error|lost|since))",
            r"(safe|risk\w*|what changes|break\w*).{0,40}(from )?\d\.\d+(\.\d+)?.{0,10}(to|->)",
            r"(migrat\w*|move) (from|to) [45]\.",
        ),
        says="What differs between two releases, what of it your file decides, and the order of the nodes: one "
        "command tells it, from findings that were measured on both.",
        causes={
            "rolling-upgrade": "What stands still meanwhile: ordered sends failed in all clusters of 4.6.0 and 4.9.7 whose "
            "masters were restarted with their write permission. Whether all sends stop while the second of two masters "
            "restarts, and whether none fails where the permission is taken before, is not settled."
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
            r"(昨晚|昨天|故障).*(什么|原因|怎么)",
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
            r"磁盘.{0,6}(满|不足|空间|不够)",
            r"dis[ck]\b.{0,20}\bfull",
            r"no space left",
            r"service not available now",
            r"(disk|store) .{0,20}(usage|space)",
        ),
        lines=(r"disk maybe full", r"mark disk full", r"disk space will be full soon", r"service not available now"),
        says="Compare the ratio in the answer (CL: commit log, CQ: consume queues) with `df -h`. Above "
        "diskSpaceWarningLevelRatio (90 %) the broker refuses each send with CODE 14 until old files are "
        "deleted.",
        causes={
            "disk-is-full": "The ratios are above 0.90, and df says the same: the disk is full. Make room, in the order below.",
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
            "mqadmin deleteExpiredCommitLog -n NAMESRV -b ADDRESS  # deletes files past fileReservedTime now (4.9.4 "
            "and newer have it); lower fileReservedTime first if none is",
        ),
    ),
    Question(
        name="a topic has no route, or does not exist",
        asks=(
            r"路由|(topic|主题).{0,6}(不存在|找不到|没有|消失)",
            r"no (topic )?route",
            r"topic\b.{0,30}\b(not|n.t|no longer) (exist\w*|there|found|known)",
            r"(cannot|can.?t|could not) find .{0,20}topic",
            r"topics?\b.{0,20}\b(vanish|disappear|gone|missing)\w*",
        ),
        lines=(r"No (topic )?route info", r"\btopic ?\[[^\]]*\] not exist", r"\bthe topic \S+ not exist"),
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
            r"(发送|请求|生产).{0,6}超时|超时.{0,6}发送",
            r"send\w*\b.{0,40}\btime\w*\s?-?out",
            r"time\w*\s?-?out.{0,40}\bsend",
            r"sendDefaultImpl",
            r"(wait|invoke\w*) .{0,30}time\w*\s?-?out",
            r"time\w*\s?-?out\D{0,5}3000",
        ),
        lines=(
            r"\b(send|invoke)\w* call (the addr\S* )?timeout",
            r"\bwait response:? ?(on the channel|timeout|from \S+ timeout)",
            r"Send \[\d+\] times, still failed",
            r"\bRemotingTooMuchRequestException\b",
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
            "mqlab explain sends --release R  # settings for each failure",
            "mqlab diagnose LOGS-OF-CLIENTS-AND-BROKERS",
        ),
    ),
    Question(
        name="consumers get nothing",
        asks=(
            r"\bcons?um\w*\b.{0,20}\b(stands?|stood|standing) still",
            r"(不|无法|停止|没有|未)消费|(消费|收).{0,4}(不到|卡住|卡死|停)|消费者.{0,6}(卡|停|不动)",
            NOT_CONSUMED,
            r"cons?umer\b.{0,20}\b(stuck|hang\w*|idle)",
        ),
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
            r"(读写)?队列.{0,4}(数|个数).{0,8}(不|少|多|差|减|缩|扩)|队列数",
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
            r"slave.{0,20}(not|n.t) (follow|replicat|sync|copy)\w*",
            r"(从节点|从库|主从|slave|同步).{0,10}(不可用|落后|延迟|不同步|失败|超时|断)",
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
            r"(消息|数据).{0,6}(丢|没了|不见)|丢(失)?.{0,4}(消息|数据)",
            rf"{OF_DATA}({LOST})\b.{{0,50}}\b({DIED}|restart\w*|oom)",
            rf"{OF_DATA}({DIED})\b.{{0,50}}\b({LOST})",
            r"messages?\b.{0,20}\b(lost|missing|disappear\w*)",
            rf"\b(messages?|msgs?)\b.{{0,12}}\b({LOST})|\b({LOST})\b.{{0,12}}\b(messages?|msgs?)\b",
            r"^\W*(power (cut|outage|failure|loss)|fail-?over)\W*$|断电",
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
            r"重试(主题|队列|topic)",
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
            r"(重置|跳过).{0,10}(位点|offset|进度|消息|堆积)|(不|没有?)在线",
            r"not online",
            r"reset\w*\b.{0,30}\boffset",
            r"offset\w*\b.{0,30}\breset",
            r"skip .{0,30}(messages|backlog)",
        ),
        lines=(r"consumer group ?\[[^\]]*\] not online", r"Consumer not online"),
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
            r"(宕机|挂了|下线).{0,20}(还|仍|继续).{0,6}(发|连|路由)",
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
            "mqlab explain sends --release R",
        ),
    ),
    Question(
        name="a queue cannot be locked",
        asks=(
            r"(队列|加).{0,4}锁.{0,6}(失败|不)?",
            r"lock\w*\b.{0,40}\b(queue|mq|messagequeue)\b",
            r"(queue|mq)\b.{0,20}\block\w*",
            r"(tryLock|lockBatch)\w*",
        ),
        lines=(r"the message queue lock(ed Failed| expired)", r"\bmq locked by other client"),
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
            r"(延时|延迟|定时)消息",
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
        asks=(
            r"乱序|(顺序).{0,6}(不|错|乱)",
            r"out of order",
            r"order (is )?(broken|lost|wrong|not kept)",
            r"(not|wrong) (in )?order",
        ),
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
        asks=(
            r"事务.{0,4}(消息)?|半消息",
            r"transaction\w*\b.{0,40}\b(not|never|stuck|late|again|twice|lost|half)",
            r"half messages?",
        ),
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
            r"(启动|起动).{0,4}(不了|失败|报错)|起不来|无法启动",
            r"(broker|name ?server|mqbroker|namesrv|node)\b.{0,20}\b(does|will|did|can|could)?\s?(not|n.t|cannot) start",
            r"(fail\w*|cannot|can.?t|unable) to start",
            r"(wo|does|did|ca)n.?t start|(not|never) com\w+ up",
            r"^(?!.*\bproxy\b).*\bstart\w*\b.{0,20}\bfail",
        ),
        lines=(r"MQ already started", r"Address already in use"),
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
            r"内存.{0,6}(溢出|不足|不够|泄漏|满)",
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
            r"消息.{0,6}(过大|太大|超长|太长|过长)|消息体",
            r"messages?\b.{0,30}\b(too (big|large|long)|size|length|exceed\w*)",
            r"(big|large|maximum|max) (size of )?messages?",
        ),
        lines=(r"(body|topic|properties) (size|length) (exceeds|is too long|too long)",),
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
            r"(配置|broker\.conf).{0,8}(对|正确|检查|合理|问题)",
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
    Question(
        name="a name server is down, or was restarted",
        asks=(
            r"name ?(server|srv)s?\b.{0,30}\b(down|dead|gone|died|dies|lost|crash\w*|restart\w*|unreachable|fail\w*|stopp?\w*)",
            r"(down|dead|lose|lost|kill\w*|restart\w*|without)\b.{0,20}\bname ?(server|srv)s?",
            r"(name ?(server|srv)|注册中心).{0,6}(挂|宕|断|重启|不可用)",
        ),
        says="Clients and brokers know every name server that they were given, and ask another one when one is dead: "
        "a producer that ran went on sending while one was restarted, in each trial. What goes wrong is a name "
        "server that answers and knows less than the others.",
        causes={
            "name-server-divergence": "It runs, and its routes are not those of the others: name servers do not talk "
            "to each other.",
            "name-server-restart-hides-topics": "It was restarted, and lacks topics though their brokers run: they come "
            "back with the brokers' next registration, or not.",
            "topic-without-route": 'The client\'s log says "No route info": none of those that it was given knows the topic.',
        },
        do=(
            "mqlab audit --namesrv A,B,C  # compares all of them; one that does not answer is said first",
            "mqadmin topicRoute -n NAMESRV -t TOPIC  # once for each name server alone; clusterList likewise",
            "mqlab explain NAMES-05  # what a silent one costs the brokers' registrations",
        ),
    ),
    Question(
        name="a broker was added, or gets no messages",
        asks=(
            r"\b(add\w*|new|another|scal\w+ (out|up)|expand\w*|additional)\b.{0,20}\b(broker|master|node)s?\b",
            r"\b(broker|master)s?\b.{0,30}\b(no|not|nothing|without|zero)\b.{0,12}\b(traffic|messages?|sends?|load)",
            r"scal\w+[ -](out|up)\W*(brokers?)?",
            r"(新增|增加|扩容|添加).{0,6}(broker|节点|机器)",
        ),
        says="A topic lies on the brokers that it was made on. A new broker has none of your topics until each is made "
        "there; producers send to its queues after their next look at the routes (30 s). With more queues keys of "
        "ordered messages move to others.",
        causes={
            "broker-leaves-keys-move": "Ordered messages: the number of queues has changed, and keys with it.",
            "queue-number-mismatch": "The numbers of read and write queues differ on the new one.",
            "broker-killed": "It is not new but back: producers that avoid it stay away for a while.",
        },
        do=(
            "mqadmin topicRoute -n NAMESRV -t TOPIC  # is the new broker among them?",
            "mqadmin updateTopic -n NAMESRV -b ADDRESS -t TOPIC -r 8 -w 8  # makes it there, with the numbers that the "
            "others have",
            "mqadmin updateSubGroup -n NAMESRV -b ADDRESS -g GROUP  # where groups are not made by themselves",
        ),
    ),
    Question(
        name="what to alert on, and from which value",
        asks=(
            r"\b(alert\w*|alarm\w*|threshold\w*|monitor\w*|page me)\b",
            r"告警|报警|监控|阈值",
        ),
        says="Take what the broker itself acts on. Of the disk: above diskMaxUsedSpaceRatio (75 %) it deletes files past "
        "their time at any hour, above diskSpaceCleanForciblyRatio (85 %) the oldest though their time is not over, and "
        "above diskSpaceWarningLevelRatio (90 %) it refuses sends. A number of waiting messages says little: take how "
        "long the oldest has waited, and whether the offset moves.",
        causes={
            "retry-topic-flood": "The length of each broker's registration beside the name server's limit.",
            "name-server-divergence": "Name servers whose routes differ.",
            "slave-diverged": "The distance of a slave that does not become smaller.",
        },
        do=(
            "mqlab audit --namesrv A,B,C --format prometheus --out mqlab.prom  # every five minutes; rules for it: "
            "docs/mqlab-alarms.yml",
            "mqlab upgrade --from A --to B --alerts  # lines of logs and values that an upgrade renames",
            "mqlab explain diskSpaceWarningLevelRatio  # what a key does, and its default on each release",
        ),
    ),
    Question(
        name="which settings for a load",
        asks=(
            r"(which|what|best|right|good|recommend\w*)\b.{0,20}\b(settings?|config\w*|values?|parameters?)\b.{0,20}\bfor\b",
            r"(settings?|tun\w+|sizing|capacity)\b.{0,30}\b(\d+ ?k?|msgs?|messages?|tps|qps)\b",
            r"(tps|qps|\d+ ?(msg|messages?)(/| per )s)",
            r"(参数|调优|性能).{0,8}(设|配|怎么|多少|建议)",
        ),
        says="Nobody can say it without your host's disk. Run your load on a cluster of the lab on a host like yours, "
        "with one setting at several values, and read what was refused, how long sends took, and what was lost.",
        causes={
            "append-stall": "The send queue's wait, from your own store log.",
            "sync-flush-one-thread": "SYNC_FLUSH: how many messages a flush takes along depends on the release.",
            "send-queue-full": "Threads and the length of the send queue.",
        },
        do=(
            "mqlab load --rate 2000 --duration 60 --set broker.flushDiskType=SYNC_FLUSH  # your rate and settings",
            "mqlab tune --rate YOURS --log store.log  # refused sends by the wait, from your appends",
            "mqlab explain sends --release R  # settings of producers for each failure",
        ),
    ),
)
