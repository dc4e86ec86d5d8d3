package mqlab;

import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Ends each transaction by its key, at once and in the same way when a broker asks again, and records each time that one does.
 *
 * <p>The key state1 rolls back and state2 leaves undecided; any other one, and none, commits.
 */
public final class Transactions implements TransactionListener {
    private static final byte[] ANY_RUN = new byte[0];
    private static final byte[] SEQ = Record.field("seq");
    private static final byte[] KEY = Record.field("key");
    private static final byte[] AT_NS = Record.field("at_ns");

    private volatile History history;

    /** Where records go from now on; null records nothing. */
    public void setHistory(History history) {
        this.history = history;
    }

    public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
        return stateOf(message.getKeys());
    }

    public LocalTransactionState checkLocalTransaction(MessageExt message) {
        History now = history;
        long[] content = Body.read(message.getBody(), ANY_RUN);
        if (now != null && content != null) {
            Record record = History.begin(now.prefix("check")).number(SEQ, content[0]);
            if (message.getKeys() != null) {
                record.text(KEY, message.getKeys());
            }
            now.write(record.number(AT_NS, System.nanoTime()));
        }
        return stateOf(message.getKeys());
    }

    private static LocalTransactionState stateOf(String key) {
        if ("state1".equals(key)) {
            return LocalTransactionState.ROLLBACK_MESSAGE;
        }
        return "state2".equals(key) ? LocalTransactionState.UNKNOW : LocalTransactionState.COMMIT_MESSAGE;
    }
}
