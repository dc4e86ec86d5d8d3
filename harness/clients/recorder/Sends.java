package mqlab;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.MessageQueueSelector;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.exception.RemotingTimeoutException;

/**
 * Sends a load's operations in its mode and route, and records what came of each.
 *
 * <p>Routes: normal (the client chooses the queue), selector (the queue that the key selects from the route as it is),
 * again (the same, and what fails is sent once more to the queue half of the route further on, as an application may do),
 * hash (as selector, with the client library's own selector by the key's hash),
 * fixed (a queue that the key was mapped to when the load began, which does not move when the route changes).
 */
final class Sends {
    private static final byte[] KEY = Record.field("key");
    private static final byte[] SEQ = Record.field("seq");
    private static final byte[] INTENDED_NS = Record.field("intended_ns");
    private static final byte[] STARTED_NS = Record.field("started_ns");
    private static final byte[] FINISHED_NS = Record.field("finished_ns");
    private static final byte[] OK = Record.ascii(",\"outcome\":\"ok\"");
    private static final byte[] FAILED = Record.ascii(",\"outcome\":\"failed\"");
    private static final byte[] UNKNOWN = Record.ascii(",\"outcome\":\"unknown\"");
    private static final byte[] BROKER = Record.field("broker");
    private static final byte[] QUEUE = Record.field("queue");
    private static final byte[] OFFSET = Record.field("offset");
    private static final byte[] MSG_ID = Record.field("msg_id");
    private static final int KEYWORD_CHARS_MAX = 64;

    private final DefaultMQProducer producer;
    private final History history;
    private final Settings settings;
    private final Draws draws;
    private final Tally tally;
    private final Load load;
    private final byte[] prefix;
    private final byte[] run;
    private final MessageQueue[] queues;

    Sends(DefaultMQProducer producer, History history, Settings settings, Tally tally, Load load)
        throws MQClientException {
        this.producer = producer;
        this.history = history;
        this.settings = settings;
        this.draws = new Draws(settings);
        this.tally = tally;
        this.load = load;
        this.run = Record.ascii(settings.run);
        Record start = new Record();
        start.raw(history.prefix("send")).text("instance", settings.instance).text("client", settings.client)
            .text("topic", settings.topic);
        this.prefix = java.util.Arrays.copyOf(start.bytes(), start.length());
        List found = settings.route.equals("fixed") ? producer.fetchPublishMessageQueues(settings.topic)
            : new ArrayList();
        queues = new MessageQueue[found.size()];
        for (int i = 0; i < queues.length; i++) {
            queues[i] = (MessageQueue) found.get(i);
        }
        java.util.Arrays.sort(queues);
    }

    /** Whether an operation is one of a thread's: a key stays with one thread, so that its sends keep their order. */
    boolean isOf(int thread, long index) {
        if (settings.threads == 1) {
            return true;
        }
        return (settings.keys == 0 ? index / settings.batch : draws.key(index)) % settings.threads == thread;
    }

    /** Sends operation {@code index}, or the batch that starts with it. Everything that may happen is recorded. */
    void send(long index, long intendedNs) {
        if (settings.mode.equals("batch")) {
            sendBatch(index, intendedNs);
            return;
        }
        Operation operation = new Operation(index, draws.key(index), intendedNs);
        Message message = operation.message();
        operation.startedNs = System.nanoTime();
        if (intendedNs < 0) {
            operation.intendedNs = operation.startedNs;
        }
        try {
            if (settings.mode.equals("async")) {
                sendAsync(message, operation);
            } else if (settings.mode.equals("oneway")) {
                sendOneway(message, operation);
                operation.ended(null, 0, null);
            } else if (settings.mode.equals("transaction")) {
                operation.ended(((TransactionMQProducer) producer).sendMessageInTransaction(message, null), 0, null);
            } else {
                operation.ended(sendSync(message, operation), 0, null);
            }
        } catch (Throwable e) {
            operation.ended(null, 0, e);
        }
    }

    private void sendAsync(Message message, Operation operation) throws Exception {
        if (settings.route.equals("selector")) {
            producer.send(message, BY_SLOT, Integer.valueOf(operation.slot), operation, settings.timeoutMs);
        } else if (settings.route.equals("hash")) {
            producer.send(message, BY_HASH, operation.key, operation, settings.timeoutMs);
        } else if (settings.route.equals("fixed")) {
            producer.send(message, queue(operation), operation, settings.timeoutMs);
        } else {
            producer.send(message, operation, settings.timeoutMs);
        }
    }

    private SendResult sendSync(Message message, Operation operation) throws Exception {
        if (settings.route.equals("again")) {
            return sendAgain(message, operation);
        }
        if (settings.route.equals("selector")) {
            return producer.send(message, BY_SLOT, Integer.valueOf(operation.slot), settings.timeoutMs);
        }
        if (settings.route.equals("hash")) {
            return producer.send(message, BY_HASH, operation.key, settings.timeoutMs);
        }
        if (settings.route.equals("fixed")) {
            return producer.send(message, queue(operation), settings.timeoutMs);
        }
        return producer.send(message, settings.timeoutMs);
    }

    private SendResult sendAgain(Message message, Operation operation) throws Exception {
        try {
            return producer.send(message, BY_SLOT, Integer.valueOf(operation.slot), settings.timeoutMs);
        } catch (Exception e) {
            return producer.send(operation.message(), BY_OTHER_SLOT, Integer.valueOf(operation.slot), settings.timeoutMs);
        }
    }

    private void sendOneway(Message message, Operation operation) throws Exception {
        if (settings.route.equals("selector")) {
            producer.sendOneway(message, BY_SLOT, Integer.valueOf(operation.slot));
        } else if (settings.route.equals("hash")) {
            producer.sendOneway(message, BY_HASH, operation.key);
        } else if (settings.route.equals("fixed")) {
            producer.sendOneway(message, queue(operation));
        } else {
            producer.sendOneway(message);
        }
    }

    /** All messages of a batch are due when it is, and share the key of its first one, since it goes to one queue. */
    private void sendBatch(long index, long intendedNs) {
        Operation[] operations = new Operation[settings.batch];
        List messages = new ArrayList();
        int key = draws.key(index);
        for (int i = 0; i < operations.length; i++) {
            operations[i] = new Operation(index + i, key, intendedNs);
            messages.add(operations[i].message());
        }
        long startedNs = System.nanoTime();
        SendResult result = null;
        Throwable error = null;
        try {
            result = settings.route.equals("fixed")
                ? producer.send(messages, queue(operations[0]), settings.timeoutMs)
                : producer.send(messages, settings.timeoutMs);
        } catch (Throwable e) {
            error = e;
        }
        for (int i = 0; i < operations.length; i++) {
            operations[i].startedNs = startedNs;
            operations[i].intendedNs = intendedNs < 0 ? startedNs : intendedNs;
            operations[i].ended(result, i, error);
        }
    }

    private MessageQueue queue(Operation operation) {
        return queues[operation.slot % queues.length];
    }

    private static final MessageQueueSelector BY_HASH = new SelectMessageQueueByHash();

    private static final MessageQueueSelector BY_SLOT = new MessageQueueSelector() {
        public MessageQueue select(List queues, Message message, Object slot) {
            return (MessageQueue) queues.get(((Integer) slot).intValue() % queues.size());
        }
    };

    private static final MessageQueueSelector BY_OTHER_SLOT = new MessageQueueSelector() {
        public MessageQueue select(List queues, Message message, Object slot) {
            return (MessageQueue) queues.get((((Integer) slot).intValue() + queues.size() / 2) % queues.size());
        }
    };

    /** One message on its way. A client of 5.3.3 that connects too late calls back twice: what comes first is its end. */
    private final class Operation implements SendCallback {
        private final long seq;
        private final String key;
        private final int slot;
        private final int bodyBytes;
        private final AtomicBoolean over = new AtomicBoolean();
        private long intendedNs;
        private long startedNs;

        Operation(long index, int keyIndex, long intendedNs) {
            this.seq = settings.first + index * settings.step;
            this.key = draws.name(keyIndex);
            this.slot = settings.keys == 0 ? (int) (index & Integer.MAX_VALUE) : keyIndex;
            this.bodyBytes = draws.bodyBytes(index);
            this.intendedNs = intendedNs;
        }

        Message message() {
            byte[] body = Body.make(run, seq, intendedNs < 0 ? System.nanoTime() : intendedNs, bodyBytes);
            Message message = new Message(settings.topic, settings.tagged ? key : "", key, body);
            if (settings.delayed && slot > 0) {
                message.setDelayTimeLevel(slot);
            }
            return message;
        }

        public void onSuccess(SendResult result) {
            ended(result, 0, null);
        }

        public void onException(Throwable e) {
            ended(null, 0, e);
        }

        void ended(SendResult result, int place, Throwable error) {
            long finishedNs = System.nanoTime();
            if (!over.compareAndSet(false, true)) {
                return;
            }
            Throwable cause = error == null ? null : deepest(error);
            if (history.isOn()) {
                record(result, place, cause, finishedNs);
            }
            tally.ended(finishedNs - intendedNs, startedNs - intendedNs, bodyBytes, problem(result, cause));
            load.oneEnded();
        }

        private void record(SendResult result, int place, Throwable cause, long finishedNs) {
            Record record = History.begin(prefix);
            if (!key.isEmpty()) {
                record.text(KEY, key);
            }
            record.number(SEQ, seq).number(INTENDED_NS, intendedNs).number(STARTED_NS, startedNs)
                .number(FINISHED_NS, finishedNs);
            if (cause != null) {
                failed(record, cause);
            } else if (result == null) {
                record.raw(UNKNOWN); // nobody answers a one-way send
            } else {
                answered(record, result, place);
            }
            history.write(record);
        }

        /** A broker that answers anything but SEND_OK has stored the message, but may lose it: never a success. */
        private void answered(Record record, SendResult result, int place) {
            boolean ok = result.getSendStatus() == SendStatus.SEND_OK;
            record.raw(ok ? OK : UNKNOWN);
            if (result.getMessageQueue() != null) {
                record.text(BROKER, result.getMessageQueue().getBrokerName());
                record.number(QUEUE, result.getMessageQueue().getQueueId());
            }
            if (!settings.mode.equals("transaction")) {
                // A transaction's offset is that of its half message, not of what consumers will see.
                record.number(OFFSET, result.getQueueOffset() + place);
            }
            record.plain(MSG_ID, settings.batch == 1 ? result.getMsgId() : part(result.getMsgId(), place));
            if (!ok) {
                String status = result.getSendStatus().toString();
                record.text("error", status).text("status", status);
            }
        }

        /** Only a broker's own refusal says that the message was not stored; anything else may have reached it. */
        private void failed(Record record, Throwable cause) {
            record.raw(cause instanceof MQBrokerException ? FAILED : UNKNOWN);
            record.text("error", cause.getClass().getSimpleName());
            if (cause instanceof MQBrokerException) {
                MQBrokerException refusal = (MQBrokerException) cause;
                record.number("code", refusal.getResponseCode()).text("remark", refusal.getErrorMessage());
                return;
            }
            if (cause instanceof MQClientException) {
                record.number("code", ((MQClientException) cause).getResponseCode());
            }
            record.text("remark", String.valueOf(cause.getMessage()));
        }
    }

    /** What Locust shows a failure as; empty when there is none. */
    private static String problem(SendResult result, Throwable cause) {
        if (cause instanceof MQBrokerException) {
            MQBrokerException refusal = (MQBrokerException) cause;
            return "MQBrokerException " + refusal.getResponseCode() + " " + keyword(refusal.getErrorMessage());
        }
        if (cause != null) {
            return cause.getClass().getSimpleName();
        }
        return result == null || result.getSendStatus() == SendStatus.SEND_OK ? "" : result.getSendStatus().toString();
    }

    /** The keyword in brackets that a refusal starts with, else the remark's start. */
    private static String keyword(String remark) {
        String text = String.valueOf(remark);
        int end = text.startsWith("[") ? text.indexOf(']') + 1 : Math.min(text.length(), KEYWORD_CHARS_MAX);
        return text.substring(0, Math.max(end, 0));
    }

    private static String part(String msgIds, int place) {
        String[] parts = String.valueOf(msgIds).split(",");
        return place < parts.length ? parts[place] : msgIds;
    }

    /** The broker's exception or the timeout inside of what the client wraps around it. */
    private static Throwable deepest(Throwable error) {
        Throwable at = error;
        while (at.getCause() != null && !(at instanceof MQBrokerException) && !(at instanceof RemotingTimeoutException)) {
            at = at.getCause();
        }
        return at;
    }
}
