package mqlab;

import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.impl.consumer.ProcessQueue;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Looks at the process queues of a client's consumers ten times a second and records when one of them is assigned,
 * becomes locked, is no longer locked, or is dropped; and once a second how many consuming threads are parked.
 *
 * <p>No release tells when a queue's flag changes, and reading a flag costs nanoseconds.
 */
public final class QueueWatch implements Runnable {
    private static final long PERIOD_MS = 100;
    private static final int THREADS_EVERY = 10;
    private static final int THREADS_MAX = 4096;

    private final History history;
    private final byte[] prefix;
    private final List watched = new CopyOnWriteArrayList();
    private volatile boolean stopped;

    public QueueWatch(History history) {
        this.history = history;
        this.prefix = history.prefix("queue");
        Thread thread = new Thread(this, "mqlab-queues");
        thread.setDaemon(true);
        thread.start();
    }

    /** One consumer and the process queues that it had at the last look. */
    private static final class Watched {
        private final String instance;
        private final String group;
        private final DefaultMQPushConsumer consumer;
        private final Map last = new HashMap();

        Watched(String instance, String group, DefaultMQPushConsumer consumer) {
            this.instance = instance;
            this.group = group;
            this.consumer = consumer;
        }
    }

    /** A process queue as it was seen. */
    private static final class Seen {
        private final ProcessQueue queue;
        private boolean locked;

        Seen(ProcessQueue queue) {
            this.queue = queue;
        }
    }

    public void add(String instance, String group, DefaultMQPushConsumer consumer) {
        watched.add(new Watched(instance, group, consumer));
    }

    /** Records nothing more; the history may be closed after this. */
    public synchronized void stop() {
        stopped = true;
    }

    public void run() {
        try {
            for (int look = 0; !stopped; look++) {
                synchronized (this) {
                    if (stopped) {
                        return;
                    }
                    for (Iterator all = watched.iterator(); all.hasNext();) {
                        look((Watched) all.next());
                    }
                    if (look % THREADS_EVERY == 0 && !watched.isEmpty()) {
                        threads();
                    }
                }
                Thread.sleep(PERIOD_MS);
            }
        } catch (InterruptedException e) {
            return;
        }
    }

    private void look(Watched one) {
        Map table = one.consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable();
        for (Iterator all = table.entrySet().iterator(); all.hasNext();) {
            Map.Entry entry = (Map.Entry) all.next();
            MessageQueue queue = (MessageQueue) entry.getKey();
            if (queue.getTopic().startsWith("%RETRY%")) {
                continue;
            }
            Seen seen = (Seen) one.last.get(queue);
            if (seen == null || seen.queue != entry.getValue()) {
                if (seen != null) {
                    record(one, queue, "dropped");
                }
                seen = new Seen((ProcessQueue) entry.getValue());
                one.last.put(queue, seen);
                record(one, queue, "assigned");
            }
            if (seen.queue.isLocked() != seen.locked) {
                seen.locked = !seen.locked;
                record(one, queue, seen.locked ? "locked" : "unlocked");
            }
        }
        for (Iterator all = one.last.entrySet().iterator(); all.hasNext();) {
            MessageQueue queue = (MessageQueue) ((Map.Entry) all.next()).getKey();
            if (!table.containsKey(queue)) {
                record(one, queue, "dropped");
                all.remove();
            }
        }
    }

    private void record(Watched one, MessageQueue queue, String event) {
        Record record = History.begin(prefix);
        record.text("instance", one.instance).text("group", one.group).text("event", event)
            .text("broker", queue.getBrokerName()).number("queue", queue.getQueueId());
        history.write(record.number("at_ns", System.nanoTime()));
    }

    /** A thread that waits for a task waits without a limit; one in a listener of this lab's runs or waits with one. */
    private void threads() {
        Thread[] threads = new Thread[THREADS_MAX];
        int count = Thread.enumerate(threads);
        int parked = 0;
        int busy = 0;
        for (int i = 0; i < count; i++) {
            if (threads[i].getName().startsWith("ConsumeMessageThread_")) {
                if (threads[i].getState() == Thread.State.WAITING) {
                    parked++;
                } else {
                    busy++;
                }
            }
        }
        Record record = History.begin(history.prefix("threads"));
        record.number("parked", parked).number("busy", busy);
        history.write(record.number("at_ns", System.nanoTime()));
    }
}
