"""The releases that expectations are about, and what was read again since a newer one has it in other words.

An expectation that is the same for two releases cites code that is the same in both, by their class files
(``python -m tools.code_changes``), or code that is named here: it was read in the newer one, and says what is expected
of it there as well. A test holds both.
"""

from __future__ import annotations

from collections.abc import Mapping

RELEASES_4X = ("4.6.0", "4.9.7")
RELEASES_5X = ("5.3.3", "5.5.0")
RELEASES = (*RELEASES_4X, *RELEASES_5X)
"""Of which an expectation is that names no releases."""
IN_CONTAINERS = (RELEASES[0], RELEASES[-1])
"""Verdicts of clusters in containers are recorded on the oldest and the newest: what differs there is the cluster's place."""

BROKER, CLIENT, STORE = "org.apache.rocketmq.broker", "org.apache.rocketmq.client", "org.apache.rocketmq.store"

READ: Mapping[str, Mapping[str, str]] = {
    "5.5.0": {
        f"{BROKER}.BrokerController.registerProcessor": "requests about lite topics go to executors that were there",
        f"{BROKER}.BrokerController.start": "its tasks are plain ones, at the same times",
        f"{BROKER}.latency.BrokerFastFailure.start": "its task is a plain one, every 10 ms as before",
        f"{BROKER}.offset.ConsumerOffsetManager.cleanOffsetByTopic": "two more tables of offsets are cleared",
        f"{BROKER}.out.BrokerOuterAPI.registerBrokerAll": "its task is a plain one, with the same words",
        f"{BROKER}.processor.AbstractSendMessageProcessor.consumerSendMsgBack": "dead letters are counted elsewhere",
        f"{BROKER}.processor.AbstractSendMessageProcessor.msgCheck": "TopicValidator lets a retry topic have a longer name",
        f"{BROKER}.processor.AdminBrokerProcessor.deleteTopic": "the lite topics of a parent go with it",
        f"{BROKER}.processor.AdminBrokerProcessor.resetOffsetInner": "a cache of pop consumers is not cleared",
        f"{BROKER}.processor.PullMessageProcessor.processRequest": "a pull of a lite topic is one of the queue that it stands for",
        f"{BROKER}.processor.EndTransactionProcessor.processRequest": "what has ended is noted by the half message's own topic",
        f"{BROKER}.transaction.queue.TransactionalMessageServiceImpl.check": "a transaction of just 6 s is not asked about yet",
        f"{BROKER}.processor.SendMessageProcessor.sendMessage": "lite topics and priorities have queues of their own",
        f"{CLIENT}.impl.consumer.RebalanceImpl.rebalanceByTopic": "no queue or no member is as good as no answer",
        f"{CLIENT}.impl.factory.MQClientInstance.resetOffset": "an ordered consumer waits until a queue is ready, not for 10 s",
        f"{CLIENT}.impl.producer.DefaultMQProducerImpl.sendDefaultImpl": "the message is logged at DEBUG, not WARN",
        f"{CLIENT}.impl.producer.DefaultMQProducerImpl.sendKernelImpl": "a timed message is told to be a delayed one",
        f"{CLIENT}.producer.DefaultMQProducer.retryResponseCodes": "only another field's default changed",
        "org.apache.rocketmq.namesrv.NamesrvController": "looks for silent brokers from 5 s after its start on, not 5 ms",
        "org.apache.rocketmq.remoting.netty.NettyRemotingAbstract.processRequestCommand": "an answer may have a callback",
        f"{STORE}.AllocateMappedFileService.putRequestAndReturnMappedFile": "calls a handler first, which nothing sets",
        f"{STORE}.CommitLog.CommitRealTimeService": "only its log lines are made in another way",
        f"{STORE}.CommitLog.DefaultFlushManager.handleDiskFlush": "only its log lines are made in another way",
        f"{STORE}.CommitLog.FlushRealTimeService": "only its log lines are made in another way",
        f"{STORE}.CommitLog.GroupCommitService": "only its log lines are made in another way",
        f"{STORE}.DefaultMessageStore.getMessage": "asks the queue itself where its next file begins",
        "org.apache.rocketmq.common.ConfigManager.load": "a file that cannot be read is deleted; its copy is read as before",
        f"{STORE}.CommitLog.recoverNormally": "begins at a file from which queues and index are whole; the log is cut last",
        f"{STORE}.DefaultMessageStore.CleanCommitLogService.isSpaceToDelete": "has the log's folder from its store",
        f"{STORE}.DefaultMessageStore.CleanCommitLogService.deleteExpiredFiles": "asks its store whether it is time to delete",
        f"{STORE}.DefaultMessageStore.ReputMessageService.doReput": "asks in its loop, too, whether the log has more",
        f"{STORE}.DefaultMessageStore.deleteTopics": "the store of queues deletes a topic's queues",
        f"{STORE}.DefaultMessageStore.shutdown": "its state is told by a machine of states; what is in RocksDB ends as well",
        f"{STORE}.CommitLog.asyncPutMessage": "the begin of the lock is cleared as the lock is released, if it fails, too",
        f"{STORE}.ConsumeQueue.putMessagePositionInfo": "logs less while it recovers",
        f"{STORE}.TransientStorePool.init": "asks Netty for the address of the buffer that it locks",
        f"{STORE}.logfile.DefaultMappedFile.appendMessagesInner": "writes by a channel if writeWithoutMmap is on; it is off",
    },
}
"""By release, the classes and members that are not in it what they were in the one before, and the difference."""
