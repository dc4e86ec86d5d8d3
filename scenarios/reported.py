"""The incidents that RocketMQ's users reported, beyond the articles: where, and which claims say what is asked of each.

docs/incidents.md is made from this and the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FAMILY = "X"
"""What the ids of their claims begin with."""

REPOSITORY = "https://github.com/apache/rocketmq"


@dataclass(frozen=True, kw_only=True)
class Reported:
    """An incident by its threads, as ``issues/285`` or ``pull/3460`` below the repository.

    ``happens`` are its faces: under a short phrase, the claim that a release has this face when it is confirmed. One that has a
    single face needs no phrase. ``avoided_by`` is the setting or act that keeps from it or ends it, in words, which ``cures`` have
    tried.
    """

    threads: tuple[str, ...]
    symptom: str
    happens: Mapping[str, str]
    avoided_by: str
    cures: tuple[str, ...]


REPORTED: Mapping[str, Reported] = {
    "busy-flag-stuck": Reported(
        threads=("issues/285", "issues/303", "issues/3459", "pull/3460"),
        symptom="After one failed append a quiet broker answers every send with [REJECTREQUEST]system busy.",
        happens={
            "a quiet broker, with a send in two seconds": "X-busy-flag-stuck-01",
            "a broker with a hundred sends a second": "X-busy-flag-stuck-02",
        },
        avoided_by="osPageCacheBusyTimeOutMills longer than the time between sends; raising it for one send ends it, as a restart "
        "does",
        cures=("X-busy-flag-stuck-03", "X-busy-flag-stuck-04"),
    ),
    "orderly-start-waits": Reported(
        threads=("issues/2621", "issues/5465", "pull/5466"),
        symptom="A member that joins an ordered group has the locks of its queues, and consumes nothing of them for seconds.",
        happens={"": "X-orderly-start-waits-01"},
        avoided_by="a newer client, on older brokers as well",
        cures=("X-orderly-start-waits-02",),
    ),
    "same-client-id-in-containers": Reported(
        threads=("issues/2760", "issues/3480", "issues/667", "issues/1589", "issues/534"),
        symptom="Of two consumers in containers some queues are consumed twice and some never; failing messages multiply.",
        happens={
            "by default, in containers that have one address": "X-same-client-id-in-containers-01",
            "where both are given one instanceName": "X-same-client-id-in-containers-02",
        },
        avoided_by="an instanceName of its own for each container; a client that is named for more than its process's id",
        cures=("X-same-client-id-in-containers-03",),
    ),
    "subscriptions-that-differ": Reported(
        threads=("issues/2836", "issues/2954", "issues/5473"),
        symptom="Two consumers of one group subscribe to different tags, or topics, and messages are missing.",
        happens={
            "different tags": "X-subscriptions-that-differ-01",
            "different topics": "X-subscriptions-that-differ-04",
        },
        avoided_by="a group for each subscription, or equal subscriptions in a group",
        cures=("X-subscriptions-that-differ-02", "X-subscriptions-that-differ-03"),
    ),
    "name-server-restart-hides-topics": Reported(
        threads=("issues/4522", "issues/9411", "issues/5322", "pull/4523"),
        symptom="A name server restarts, one topic is made, and no route of the others comes back (No route info of this topic).",
        happens={
            "the topics have no route": "X-name-server-restart-hides-topics-01",
            "a producer that ran before cannot send": "X-name-server-restart-hides-topics-02",
        },
        avoided_by="no topic made within 30 s of a name server's restart; brokerPermission written to the broker ends it, one more "
        "topic does not",
        cures=("X-name-server-restart-hides-topics-03", "X-name-server-restart-hides-topics-04"),
    ),
    "last-offset-reads-history": Reported(
        threads=("issues/334", "issues/617", "issues/1135", "issues/4909", "issues/9083"),
        symptom="A new consumer group with CONSUME_FROM_LAST_OFFSET consumes every message that the topic has.",
        happens={"": "X-last-offset-reads-history-01"},
        avoided_by="the group's offsets set to the ends of the queues before it first starts",
        cures=("X-last-offset-reads-history-02", "X-last-offset-reads-history-03"),
    ),
    "sync-master-acknowledges-alone": Reported(
        threads=("pull/3979", "issues/2528", "issues/5128"),
        symptom="A SYNC_MASTER returns SEND_OK though its slave does not answer, and its death loses what it acknowledged.",
        happens={"": "X-sync-master-acknowledges-alone-01"},
        avoided_by="inSyncReplicas=2, with which no send is acknowledged while no slave answers; enableAutoInSyncReplicas ends "
        "that wait, and the promise with it",
        cures=("X-sync-master-acknowledges-alone-03", "X-sync-master-acknowledges-alone-04"),
    ),
    "delayed-message-fails-once": Reported(
        threads=("issues/3229", "issues/3242", "issues/3682", "issues/6984", "issues/8124", "issues/9249"),
        symptom="A delayed message never comes after an exception in its delivery (messageTimeup execute error); or no message of "
        "a delay level, or of any, comes after an OutOfMemoryError.",
        happens={
            "an exception loses the message": "X-delayed-message-fails-once-01",
            "an error ends its level": "X-delayed-message-fails-once-02",
            "an error ends all levels": "X-delayed-message-fails-once-03",
        },
        avoided_by="for a level that has stopped a restart, which on 4.6.0 delivers some of what had come before again; no "
        "restart brings the lost message back",
        cures=(
            "X-delayed-message-fails-once-04",
            "X-delayed-message-fails-once-05",
            "X-delayed-message-fails-once-06",
        ),
    ),
    "dispatch-thread-dies": Reported(
        threads=("issues/7902", "pull/7903", "issues/1613"),
        symptom="Sends are acknowledged and the offsets of the topic stand still: nobody can consume what is sent.",
        happens={"": "X-dispatch-thread-dies-01"},
        avoided_by="a restart ends it",
        cures=("X-dispatch-thread-dies-03",),
    ),
    "slave-serves-no-reads": Reported(
        threads=("issues/9879", "issues/4840"),
        symptom="The master is down, and consumers are given nothing of its backlog, which the slave has.",
        happens={
            "by default": "X-slave-serves-no-reads-01",
            "an ordered consumer, also with slaveReadEnable": "X-slave-serves-no-reads-03",
        },
        avoided_by="slaveReadEnable=true on the slave, for topics that it has copied, which takes 5.x a minute; ordered consumers "
        "wait for the master all the same",
        cures=("X-slave-serves-no-reads-02",),
    ),
    "async-timeout-stored-twice": Reported(
        threads=("issues/2198", "issues/1588", "issues/3556", "pull/3555", "issues/1781", "issues/8168"),
        symptom="Asynchronous sends to a broker that stands still are stored twice, or fail though they are stored; those to a "
        "dead broker are not tried again (retryTimesWhenSendAsyncFailed does not work).",
        happens={
            "stored twice": "X-async-timeout-stored-twice-01",
            "failed, and stored all the same": "X-async-timeout-stored-twice-02",
            "not tried again where the broker is dead": "X-async-timeout-stored-twice-03",
        },
        avoided_by="a sendMsgTimeout longer than the standstill, for which the sender then waits; or "
        "retryTimesWhenSendAsyncFailed=0, with which what fails may be stored all the same",
        cures=("X-async-timeout-stored-twice-04", "X-async-timeout-stored-twice-05", "X-async-timeout-stored-twice-07"),
    ),
    "disk-ratio-counts-differently": Reported(
        threads=("issues/3245", "issues/4707", "issues/2138", "issues/4549"),
        symptom="After an upgrade a broker refuses sends (service not available now, maybe disk full), or deletes files that "
        "nobody has consumed, at a fill of its disk that was fine before.",
        happens={
            "sends are refused": "X-disk-ratio-counts-differently-01",
            "files are deleted": "X-disk-ratio-counts-differently-02",
        },
        avoided_by="tune2fs -m 0 on the store's file system, or one that reserves nothing; a higher "
        "diskSpaceWarningLevelRatio against refusals, and diskSpaceCleanForciblyRatio against deletions; 5.x takes up to 90 and 85",
        cures=(
            "X-disk-ratio-counts-differently-03",
            "X-disk-ratio-counts-differently-04",
            "X-disk-ratio-counts-differently-06",
        ),
    ),
    "delayed-again-after-restart": Reported(
        threads=("issues/3473", "pull/3478"),
        symptom="After a restart of the broker delayed messages that had been consumed already come again.",
        happens={
            "the broker was stopped": "X-delayed-again-after-restart-01",
            "it was killed": "X-delayed-again-after-restart-02",
        },
        avoided_by="a broker that writes how far it is as it is stopped, as 4.9.7 and newer do; flushDelayOffsetInterval=1000 "
        "leaves a second's messages after a kill",
        cures=("X-delayed-again-after-restart-03",),
    ),
    "recreated-topic-keeps-offsets": Reported(
        threads=("issues/2748", "issues/4774", "issues/551"),
        symptom="A topic was deleted and made again, and its group consumes none of the first messages: its Diff is negative.",
        happens={
            "as many messages as it had consumed are skipped": "X-recreated-topic-keeps-offsets-01",
            "nothing comes as long as the new topic is shorter": "X-recreated-topic-keeps-offsets-02",
        },
        avoided_by="the group's offsets in the new topic set to 0 before it comes back; or another name for topic or group",
        cures=("X-recreated-topic-keeps-offsets-03",),
    ),
    "delete-topic-rechecks-transactions": Reported(
        threads=("issues/2133", "pull/2134"),
        symptom="After a topic is deleted the broker asks producers about transactions that ended before, and delivers messages "
        "twice.",
        happens={
            "asked about again": "X-delete-topic-rechecks-transactions-01",
            "delivered twice": "X-delete-topic-rechecks-transactions-02",
        },
        avoided_by="RMQ_SYS_TRANS_OP_HALF_TOPIC made on each broker as other topics are; a shorter transactionCheckInterval leaves "
        "fewer to ask about",
        cures=("X-delete-topic-rechecks-transactions-03", "X-delete-topic-rechecks-transactions-04"),
    ),
    "pool-loses-transaction-commits": Reported(
        threads=("issues/2098",),
        symptom="With transientStorePoolEnable=true transactional messages stay undelivered, and EndTransactionThread logs "
        "selectMappedBuffer request pos invalid.",
        happens={"": "X-pool-loses-transaction-commits-01"},
        avoided_by="transientStorePoolEnable=false where transactions are sent; or commitCommitLogLeastPages=0, not a shorter "
        "commitIntervalCommitLog",
        cures=(
            "X-pool-loses-transaction-commits-04",
            "X-pool-loses-transaction-commits-03",
            "X-pool-loses-transaction-commits-02",
        ),
    ),
    "reset-offset-stops-consumption": Reported(
        threads=("issues/10076", "pull/10175", "issues/5613"),
        symptom="A group's offsets are reset (resetOffsetByTime), and it consumes nothing for ten seconds.",
        happens={
            "a normal consumer": "X-reset-offset-stops-consumption-01",
            "an ordered consumer": "X-reset-offset-stops-consumption-03",
            "with useServerSideResetOffset=false": "X-reset-offset-stops-consumption-02",
        },
        avoided_by="a reset while the group is away; a broker of 5.x, unless its useServerSideResetOffset is false, with which "
        "only an ordered consumer of 5.5.0 goes on",
        cures=("X-reset-offset-stops-consumption-05", "X-reset-offset-stops-consumption-04"),
    ),
    "restarted-broker-forgets-consumers": Reported(
        threads=("issues/3434", "issues/2732", "issues/2763", "pull/7324"),
        symptom="A broker is back in seconds, and its consumers get nothing of it for half a minute; others get messages twice "
        "meanwhile.",
        happens={
            "most groups wait whose clients ask for no route meanwhile": "X-restarted-broker-forgets-consumers-01",
            "some groups wait, with default settings": "X-restarted-broker-forgets-consumers-02",
            "messages of the other broker come twice": "X-restarted-broker-forgets-consumers-05",
        },
        avoided_by="clients of 5.x, also of older brokers, not a shorter heartbeatBrokerInterval; a client that asks for its route "
        "while the broker is away waits all the same",
        cures=(
            "X-restarted-broker-forgets-consumers-03",
            "X-restarted-broker-forgets-consumers-04",
            "X-restarted-broker-forgets-consumers-07",
        ),
    ),
    "offset-past-the-end": Reported(
        threads=("issues/2181", "issues/4215", "pull/4219"),
        symptom="After a power loss of a broker a group consumes a whole queue again (PULL_OFFSET_MOVED, newOffset=0), or is never "
        "given messages that are sent after it.",
        happens={
            "the whole queue again, if nothing is sent meanwhile": "X-offset-past-the-end-01",
            "all that is sent meanwhile skipped, if it is less than was lost": "X-offset-past-the-end-02",
            "as much skipped as was lost, if more is sent": "X-offset-past-the-end-03",
        },
        avoided_by="flushDiskType=SYNC_FLUSH, for slower sends",
        cures=("X-offset-past-the-end-04",),
    ),
    "sync-flush-one-thread": Reported(
        threads=("issues/1515", "issues/348", "issues/320", "issues/601", "issues/2471"),
        symptom="With SYNC_FLUSH a broker takes no more than some hundred messages a second ([TIMEOUT_CLEAN_QUEUE]broker busy), "
        "however many producers send.",
        happens={
            "a flush takes one message": "X-sync-flush-one-thread-01",
            "sends are refused": "X-sync-flush-one-thread-02",
        },
        avoided_by="sendMessageThreadPoolNums=16 with useReentrantLockWhenPutMessage=true; a broker of 4.9.7 or newer",
        cures=("X-sync-flush-one-thread-03",),
    ),
    "idle-broker-burns-cpu": Reported(
        threads=("issues/10966", "pull/10967", "issues/8485", "issues/10515", "issues/10199"),
        symptom="A broker's thread TransactionalOpBatchService takes a whole core for good although nobody sends any more.",
        happens={"": "X-idle-broker-burns-cpu-01"},
        avoided_by="a restart ends it until the next transaction; 5.3.3 does not have it",
        cures=("X-idle-broker-burns-cpu-02", "X-idle-broker-burns-cpu-03"),
    ),
    "rolling-upgrade": Reported(
        threads=("issues/459", "issues/5312"),
        symptom="In a rolling upgrade, one broker after another, all sends fail for as long as the second master is away.",
        happens={"": "X-rolling-upgrade-04"},
        avoided_by="mqadmin wipeWritePerm, and half a minute, before each master is stopped",
        cures=("X-rolling-upgrade-05",),
    ),
}
"""By the incident's name."""
