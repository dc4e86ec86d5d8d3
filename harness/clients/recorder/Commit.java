package mqlab;

import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** Commits every transaction, at once and when the broker asks again. */
public final class Commit implements TransactionListener {
    public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
        return LocalTransactionState.COMMIT_MESSAGE;
    }

    public LocalTransactionState checkLocalTransaction(MessageExt message) {
        return LocalTransactionState.COMMIT_MESSAGE;
    }
}
