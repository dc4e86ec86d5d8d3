"""Lines at WARN, ERROR and, where an operator watches it, INFO, whose words are not the same in all releases.

Nothing here is read out of logs (:mod:`harness.model.log_events` has what is): an alarm or a search may hang on these words, and
``mqlab upgrade --alerts`` says what becomes of them. They were found by comparing what the classes of 4.6.0, 4.9.7, 5.3.3 and
5.5.0 log; which of the releases between 4.4.0 and 5.5.0 has which words is read from their classes (``python -m tools.words``).
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.model.log_events import LineWords

_ROCKETMQ = "org.apache.rocketmq"
_STORE = f"{_ROCKETMQ}.store.DefaultMessageStore"
_CLEAN = f"{_STORE}$CleanCommitLogService"
_HOOKS = f"{_ROCKETMQ}.broker.util.HookUtils"
_HA_4X, _HA_5X = f"{_ROCKETMQ}.store.ha.HAService", f"{_ROCKETMQ}.store.ha"
_GROUPS = f"{_ROCKETMQ}.broker.client.ConsumerGroupInfo"
_PRODUCERS = f"{_ROCKETMQ}.broker.client.ProducerManager"
_LOCKS = f"{_ROCKETMQ}.broker.client.rebalance.RebalanceLockManager"
_PULLS = f"{_ROCKETMQ}.broker.processor.PullMessageProcessor"
_PULL_RESULTS = f"{_ROCKETMQ}.broker.processor.DefaultPullMessageResultHandler"
_CONTROLLER = f"{_ROCKETMQ}.broker.BrokerController"
_REMOTING = f"{_ROCKETMQ}.remoting.netty.NettyRemotingAbstract"
_SCHEDULE = "ScheduleMessageService"
_REBALANCE = f"{_ROCKETMQ}.client.impl.consumer.RebalanceImpl"
_ACCOUNTS = f"{_ROCKETMQ}.acl.plain"
_PLAIN = f"{_ACCOUNTS}.PlainPermissionLoader, {_ACCOUNTS}.PlainPermissionManager"
_CHECKED = f"{_ROCKETMQ}.auth.authentication.chain.DefaultAuthenticationHandler"


@dataclass(frozen=True, kw_only=True)
class AlertLine:
    """What a line tells, and its words in each release. A release that has none of them writes no such line."""

    tells: str
    wordings: tuple[LineWords, ...]


def _until(release: str, words: str, by: str, since: str = "") -> LineWords:
    return LineWords(words=words, by=by, since=since, until=release)


def _since(release: str, words: str, by: str) -> LineWords:
    return LineWords(words=words, by=by, since=release)


ALERT_LINES: tuple[AlertLine, ...] = (
    AlertLine(
        tells="the commit log's disk is over the share at which files are deleted",
        wordings=(
            _until("4.9.7", "physic disk maybe full soon, so reclaim space,", _CLEAN),
            _since("5.0.0", "commitLog disk maybe full soon, so reclaim space,", _CLEAN),
        ),
    ),
    AlertLine(
        tells="the consume queues' disk is over the share at which files are deleted",
        wordings=(
            _until("4.9.7", "logics disk maybe full soon, so reclaim space,", _CLEAN),
            _since("5.0.0", "consumeQueue disk maybe full soon, so reclaim space,", _CLEAN),
        ),
    ),
    AlertLine(
        tells="store locked by another process",
        wordings=(
            _until("5.3.3", "Lock failed,MQ already started", _STORE),
            _since("5.4.0", "Lock failed, MQ already started, lock status:", _STORE),
        ),
    ),
    AlertLine(
        tells="send refused, the broker is a slave",
        wordings=(
            _until("4.6.1", "message store is slave mode, so putMessage is forbidden", _STORE),
            _until("4.9.7", "broke role is slave, so putMessage is forbidden", _STORE, since="4.8.0"),
            _since("5.0.0", "message store is in slave mode, so putMessage is forbidden", _HOOKS),
        ),
    ),
    AlertLine(
        tells="a slave has not copied in time, by the thread that waits for it",
        wordings=(
            _until("4.9.2", "transfer messsage to slave timeout", f"{_HA_4X}$GroupTransferService"),
            _since("5.0.0", "transfer message to slave timeout", f"{_HA_5X}.GroupTransferService"),
        ),
    ),
    AlertLine(
        tells="a slave asked for more than its master has",
        wordings=(
            LineWords(
                words="greater than local commitLog offset=",
                by=f"{_ROCKETMQ}.store.ha.HAConnection$ReadSocketService",
                since="4.9.3",
                until="4.9.7",
            ),
        ),
    ),
    AlertLine(
        tells="a slave could not append what its master sent",
        wordings=(
            _until("4.9.7", "appendToPhyQueue failed ", _STORE),
            _since("5.0.0", "appendToCommitLog: failed to append data to commitLog", _STORE),
        ),
    ),
    AlertLine(
        tells="how far the slave is behind, at INFO",
        wordings=(
            _until("4.9.7", "Slave fall behind master: ", _CONTROLLER),
            _since("5.0.0", "CommitLog: slave fall behind master ", _CONTROLLER),
        ),
    ),
    AlertLine(
        tells="a consumer's connection has another client id than before",
        wordings=(
            _until("4.9.7", "[BUG] consumer channel exist in broker, but clientId not equal", _GROUPS),
            _since("5.0.0", "consumer channel exists in broker, but clientId is not the same one", _GROUPS),
        ),
    ),
    AlertLine(
        tells="a producer's connection gave no heartbeat for so long that it was removed",
        wordings=(
            _until("4.9.7", "SCAN: remove expired channel[", _PRODUCERS),
            _since("5.0.0", "scanNotActiveChannel: remove expired channel[", _PRODUCERS),
        ),
    ),
    AlertLine(
        tells="unlocking refused, locked by another client",
        wordings=(
            _until("4.9.7", "unlockBatch, but mq locked by other client", _LOCKS),
            _since("5.0.0", "unlockBatch: mq locked by other client", _LOCKS),
        ),
    ),
    AlertLine(
        tells="unlocking refused, not locked",
        wordings=(
            _until("4.9.7", "unlockBatch, but mq not locked", _LOCKS),
            _since("5.0.0", "unlockBatch: mq not locked", _LOCKS),
        ),
    ),
    AlertLine(
        tells="pulled messages did not get to the consumer",
        wordings=(
            _until("4.9.7", "transfer many message by pagecache failed", _PULLS),
            _since("5.0.0", "Fail to transfer messages from page cache to", _PULL_RESULTS),
        ),
    ),
    AlertLine(
        tells="delayed message not put again at its time",
        wordings=(
            _until(
                "4.9.2",
                "a message time up, but reput it failed, topic: ",
                f"{_ROCKETMQ}.store.schedule.{_SCHEDULE}$DeliverDelayedMessageTimerTask",
            ),
            LineWords(
                words=f"{_SCHEDULE} put message failed. info:",
                by=f"{_ROCKETMQ}.store.schedule.{_SCHEDULE}$PutResultProcess, "
                f"{_ROCKETMQ}.broker.schedule.{_SCHEDULE}$PutResultProcess",
                since="4.9.3",
            ),
        ),
    ),
    AlertLine(
        tells="SYNC_FLUSH, not on disk in time",
        wordings=(_until("4.9.0", "do groupcommit, wait for flush failed, topic: ", f"{_ROCKETMQ}.store.CommitLog"),),
    ),
    AlertLine(
        tells="answer that came after its request was given up",
        wordings=(
            _until("5.1.4", "receive response, but not matched any request", _REMOTING),
            _since("5.2.0", "receive response, cmd=", _REMOTING),
        ),
    ),
    AlertLine(
        tells="events of connections dropped, queue full",
        wordings=(
            _until("4.9.2", "event queue size[", f"{_REMOTING}$NettyEventExecutor"),
            _since("4.9.3", "event queue size [", f"{_REMOTING}$NettyEventExecutor"),
        ),
    ),
    AlertLine(
        tells="the queues of a topic could not be shared out among a group",
        wordings=(
            _until("4.9.7", "rebalanceByTopic Exception", _REBALANCE),
            _since("5.0.0", "rebalance Exception", _REBALANCE),
        ),
    ),
    AlertLine(
        tells="access control, a wrong signature",
        wordings=(
            _until("5.2.0", "Check signature failed for accessKey=", _PLAIN),
            _since("5.3.0", "check signature failed.", _CHECKED),
        ),
    ),
    AlertLine(
        tells="access control, no account is named",
        wordings=(
            _until("5.2.0", "No accessKey is configured", _PLAIN),
            _since("5.3.0", "username cannot be null.", _CHECKED),
        ),
    ),
    AlertLine(
        tells="access control, the account is not known",
        wordings=(
            _until("5.2.0", "No acl config for ", _PLAIN),
            _since("5.3.0", " is not found.", _CHECKED),
        ),
    ),
    AlertLine(
        tells="access control, the account may not",
        wordings=(
            _until("5.2.0", "No default permission for ", f"{_PLAIN}, {_ACCOUNTS}.PlainPermissionChecker"),
            _since(
                "5.3.0",
                " has no permission to access ",
                f"{_ROCKETMQ}.auth.authorization.chain.AclAuthorizationHandler",
            ),
        ),
    ),
    AlertLine(
        tells="accounts of plain_acl.yml read, at INFO",
        wordings=(_until("5.2.0", "Broker plain acl conf data is", _PLAIN),),
    ),
)
