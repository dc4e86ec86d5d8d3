package mqlab;

import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.MessageQueueSelector;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.exception.RemotingTimeoutException;

/**
 * An open-loop schedule of sends: operation i is due at start + i / rate, whatever happened before. With several
 * threads, thread t takes the operations i with i mod threads == t, so that a key stays with one thread as long as the
 * number of keys is a multiple of the number of threads.
 */
public final class Schedule {
    private final DefaultMQProducer producer;
    private final History history;
    private final String instance;
    private final String client;
    private final String topic;
    private final String mode;
    private final String route;
    private final double rateHz;
    private final int threads;
    private final int keys;
    private final int bodyBytes;
    private final long timeoutMs;
    private final AtomicLong issued = new AtomicLong();
    private final AtomicLong ended = new AtomicLong();
    private volatile boolean stopped;
    private Thread[] workers = new Thread[0];
    private volatile MessageQueue[] queues = new MessageQueue[0];

    public Schedule(DefaultMQProducer producer, History history, String instance, String client, String topic,
        String mode, String route, double rateHz, int threads, int keys, int bodyBytes, long timeoutMs) {
        this.producer = producer;
        this.history = history;
        this.instance = instance;
        this.client = client;
        this.topic = topic;
        this.mode = mode;
        this.route = route;
        this.rateHz = rateHz;
        this.threads = threads;
        this.keys = keys;
        this.bodyBytes = bodyBytes;
        this.timeoutMs = timeoutMs;
    }

    /** Starts {@code threads} senders; they end after {@code operations} or when stopped, whichever comes first. */
    public void start(final long startNs, final long operations) throws MQClientException {
        if (route.equals("fixed")) {
            List found = producer.fetchPublishMessageQueues(topic);
            MessageQueue[] all = new MessageQueue[found.size()];
            for (int i = 0; i < all.length; i++) {
                all[i] = (MessageQueue) found.get(i);
            }
            java.util.Arrays.sort(all);
            queues = all;
        }
        workers = new Thread[threads];
        for (int t = 0; t < threads; t++) {
            final int first = t;
            workers[t] = new Thread("mqlab-schedule-" + t) {
                public void run() {
                    pace(first, startNs, operations);
                }
            };
            workers[t].setDaemon(true);
            workers[t].start();
        }
    }

    private void pace(int first, long startNs, long operations) {
        for (long i = first; i < operations && !stopped; i += threads) {
            long dueNs = startNs + (long) (i * 1e9 / rateHz);
            long wait = dueNs - System.nanoTime();
            while (wait > 0 && !stopped) {
                // A long park oversleeps by more than a short one: come close, then park for the rest.
                LockSupport.parkNanos(wait > 2000000L ? wait - 1000000L : wait);
                wait = dueNs - System.nanoTime();
            }
            if (!stopped) {
                send(i, dueNs);
            }
        }
    }

    private void send(final long seq, final long intendedNs) {
        final int keyIndex = (int) (seq % keys);
        final String key = "k" + keyIndex;
        Message message = new Message(topic, "", key, Body.make(seq, intendedNs, bodyBytes));
        issued.incrementAndGet();
        final long startedNs = System.nanoTime();
        try {
            if (mode.equals("async")) {
                sendAsync(message, seq, key, keyIndex, intendedNs, startedNs);
            } else if (mode.equals("oneway")) {
                sendOneway(message, keyIndex);
                end(seq, key, intendedNs, startedNs, "unknown", null, null);
            } else {
                SendResult result = sendSync(message, keyIndex);
                end(seq, key, intendedNs, startedNs, outcome(result), result, null);
            }
        } catch (Throwable e) {
            end(seq, key, intendedNs, startedNs, outcome(e), null, e);
        }
    }

    private void sendAsync(Message message, final long seq, final String key, int keyIndex, final long intendedNs,
        final long startedNs) throws Exception {
        SendCallback callback = new SendCallback() {
            public void onSuccess(SendResult result) {
                end(seq, key, intendedNs, startedNs, outcome(result), result, null);
            }

            public void onException(Throwable e) {
                end(seq, key, intendedNs, startedNs, outcome(e), null, e);
            }
        };
        if (route.equals("selector")) {
            producer.send(message, BY_KEY, Integer.valueOf(keyIndex), callback, timeoutMs);
        } else if (route.equals("fixed")) {
            producer.send(message, queues[keyIndex % queues.length], callback, timeoutMs);
        } else {
            producer.send(message, callback, timeoutMs);
        }
    }

    private SendResult sendSync(Message message, int keyIndex) throws Exception {
        if (route.equals("selector")) {
            return producer.send(message, BY_KEY, Integer.valueOf(keyIndex), timeoutMs);
        }
        if (route.equals("fixed")) {
            return producer.send(message, queues[keyIndex % queues.length], timeoutMs);
        }
        return producer.send(message, timeoutMs);
    }

    private void sendOneway(Message message, int keyIndex) throws Exception {
        if (route.equals("selector")) {
            producer.sendOneway(message, BY_KEY, Integer.valueOf(keyIndex));
        } else if (route.equals("fixed")) {
            producer.sendOneway(message, queues[keyIndex % queues.length]);
        } else {
            producer.sendOneway(message);
        }
    }

    private static final MessageQueueSelector BY_KEY = new MessageQueueSelector() {
        public MessageQueue select(List queues, Message message, Object keyIndex) {
            return (MessageQueue) queues.get(((Integer) keyIndex).intValue() % queues.size());
        }
    };

    private void end(long seq, String key, long intendedNs, long startedNs, String outcome, SendResult result,
        Throwable error) {
        long finishedNs = System.nanoTime();
        StringBuilder record = history.begin("send");
        History.text(record, "instance", instance);
        History.text(record, "client", client);
        History.text(record, "topic", topic);
        History.text(record, "key", key);
        History.number(record, "seq", seq);
        History.number(record, "intended_ns", intendedNs);
        History.number(record, "started_ns", startedNs);
        History.number(record, "finished_ns", finishedNs);
        History.text(record, "outcome", outcome);
        if (result != null) {
            History.text(record, "broker", result.getMessageQueue().getBrokerName());
            History.number(record, "queue", result.getMessageQueue().getQueueId());
            History.number(record, "offset", result.getQueueOffset());
            History.text(record, "msg_id", result.getMsgId());
            if (result.getSendStatus() != SendStatus.SEND_OK) {
                History.text(record, "error", result.getSendStatus().toString());
            }
        }
        if (error != null) {
            Throwable cause = deepest(error);
            History.text(record, "error", cause.getClass().getSimpleName());
            if (cause instanceof MQBrokerException) {
                History.number(record, "code", ((MQBrokerException) cause).getResponseCode());
                History.text(record, "remark", ((MQBrokerException) cause).getErrorMessage());
            } else {
                if (cause instanceof MQClientException) {
                    History.number(record, "code", ((MQClientException) cause).getResponseCode());
                }
                History.text(record, "remark", String.valueOf(cause.getMessage()));
            }
        }
        history.write(record);
        ended.incrementAndGet();
    }

    /** A broker that answers anything but SEND_OK has stored the message, but may lose it: unknown, never success. */
    private static String outcome(SendResult result) {
        return result.getSendStatus() == SendStatus.SEND_OK ? "ok" : "unknown";
    }

    /** Only a broker's own refusal says that the message was not stored; anything else may have reached it. */
    private static String outcome(Throwable error) {
        return deepest(error) instanceof MQBrokerException ? "failed" : "unknown";
    }

    /** The broker's exception or the timeout inside of what the client wraps around it. */
    private static Throwable deepest(Throwable error) {
        Throwable at = error;
        while (at.getCause() != null && !(at instanceof MQBrokerException) && !(at instanceof RemotingTimeoutException)) {
            at = at.getCause();
        }
        return at;
    }

    public void stop() {
        stopped = true;
        for (int i = 0; i < workers.length; i++) {
            LockSupport.unpark(workers[i]);
        }
    }

    public long issued() {
        return issued.get();
    }

    public long ended() {
        return ended.get();
    }

    public boolean isSending() {
        for (int i = 0; i < workers.length; i++) {
            if (workers[i].isAlive()) {
                return true;
            }
        }
        return false;
    }
}
