package mqlab;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/** What a send costs this side of the client when the broker answers at once: with a history, and without one. */
public final class Cost extends Load {
    /** Answers every send at once, as a broker would. */
    private static final class Instant extends DefaultMQProducer {
        private final SendResult result = new SendResult(SendStatus.SEND_OK,
            "FD00000000000000000000000000000200004E0E2F2A695BCD092EFC", "7F00000100002A9F000000000000F5E2",
            new MessageQueue("mqlab-load", "broker-a", 3), 123456L);

        public SendResult send(Message message, long timeout) {
            return result;
        }
    }

    private Cost(History history, Settings settings) throws MQClientException {
        super(new Instant(), history, settings);
    }

    public void steer(double to) {
        throw new UnsupportedOperationException();
    }

    public long due() {
        return issued();
    }

    public long abandon() {
        return 0;
    }

    void run(int thread) {
        throw new UnsupportedOperationException();
    }

    /** CPU nanoseconds a send in this thread, over {@code count} of them; the preparing thread's are added. */
    public static double measure(String path, int count) throws Exception {
        Settings settings = new Settings();
        settings.instance = "producer-0";
        settings.client = "java";
        settings.topic = "mqlab-load";
        settings.mode = "sync";
        settings.run = "20261121T081526Z-326d";
        History history = new History(path, "producer-0");
        Cost cost = new Cost(history, settings);
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long others = others(threads);
        long before = threads.getCurrentThreadCpuTime();
        for (int i = 0; i < count; i++) {
            cost.send(i, System.nanoTime());
        }
        long used = threads.getCurrentThreadCpuTime() - before + others(threads) - others;
        history.close();
        return (double) used / count;
    }

    /** Of the threads that prepare windows. */
    private static long others(ThreadMXBean threads) {
        long sum = 0;
        long[] ids = threads.getAllThreadIds();
        for (int i = 0; i < ids.length; i++) {
            java.lang.management.ThreadInfo info = threads.getThreadInfo(ids[i]);
            if (info != null && info.getThreadName().equals("mqlab-history")) {
                sum += threads.getThreadCpuTime(ids[i]);
            }
        }
        return sum;
    }
}
