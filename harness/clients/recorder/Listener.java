package mqlab;

import java.util.List;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Records each consumption of one consumer instance; the same object serves ordered and concurrent consumers. */
public final class Listener {
    private static final byte[] TOPIC = Record.field("topic");
    private static final byte[] BROKER = Record.field("broker");
    private static final byte[] QUEUE = Record.field("queue");
    private static final byte[] OFFSET = Record.field("offset");
    private static final byte[] KEY = Record.field("key");
    private static final byte[] SEQ = Record.field("seq");
    private static final byte[] INTENDED_NS = Record.field("intended_ns");
    private static final byte[] OK = Record.ascii(",\"outcome\":\"ok\"");
    private static final byte[] FOREIGN = Record.ascii(",\"outcome\":\"foreign\"");
    private static final byte[] CHANGED = Record.ascii(",\"outcome\":\"failed\",\"error\":\"changed body\"");
    private static final byte[] FAILS = Record.ascii(",\"outcome\":\"failed\",\"error\":\"as asked\"");
    private static final byte[] LATE = Record.ascii(",\"outcome\":\"failed\",\"error\":\"took too long\"");
    private static final byte[] STORED_MS = Record.field("stored_ms");
    private static final byte[] RECONSUME = Record.field("reconsume");
    private static final byte[] STARTED_NS = Record.field("started_ns");
    private static final byte[] FINISHED_NS = Record.field("finished_ns");

    private final History history;
    private final byte[] prefix;
    private final byte[] run;
    private final Work work;
    private long failEvery;
    private long failNs;

    /** Bodies that do not begin as those of {@code run} do are recorded as foreign; an empty one accepts any run's. */
    public Listener(History history, String instance, String group, String run, Work work) {
        this.history = history;
        this.run = Record.ascii(run);
        this.work = work;
        Record start = new Record();
        start.raw(history.prefix("consume")).text("instance", instance).text("group", group);
        this.prefix = java.util.Arrays.copyOf(start.bytes(), start.length());
    }

    /**
     * Every message whose sequence number is a multiple of this fails at each consumption; 0 lets none fail. With {@code ns}
     * it does not tell so: it takes that long, which is to be too long, and then succeeds.
     */
    public Listener failing(long every, long ns) {
        failEvery = every;
        failNs = ns;
        return this;
    }

    public MessageListenerOrderly ordered() {
        return new MessageListenerOrderly() {
            public ConsumeOrderlyStatus consumeMessage(List messages, ConsumeOrderlyContext context) {
                return record(messages, context.getMessageQueue())
                    ? ConsumeOrderlyStatus.SUCCESS : ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
            }
        };
    }

    public MessageListenerConcurrently concurrent() {
        return new MessageListenerConcurrently() {
            public ConsumeConcurrentlyStatus consumeMessage(List messages, ConsumeConcurrentlyContext context) {
                return record(messages, context.getMessageQueue())
                    ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER;
            }
        };
    }

    /** A body that names this run has been changed on its way; any other one is somebody else's. */
    private byte[] refusal(byte[] body) {
        return Body.names(body, run) ? CHANGED : FOREIGN;
    }

    private boolean record(List messages, MessageQueue queue) {
        boolean succeeded = true;
        for (int i = 0; i < messages.size(); i++) {
            MessageExt message = (MessageExt) messages.get(i);
            long startedNs = System.nanoTime();
            long[] content = Body.read(message.getBody(), run);
            work.run(startedNs, queue);
            boolean fails = failEvery > 0 && content != null && content[0] % failEvery == 0;
            if (fails) {
                Work.stay(startedNs + failNs);
            }
            succeeded &= !fails || failNs > 0;
            Record record = History.begin(prefix);
            record.text(TOPIC, queue.getTopic()).text(BROKER, queue.getBrokerName())
                .number(QUEUE, queue.getQueueId()).number(OFFSET, message.getQueueOffset());
            if (message.getKeys() != null) {
                record.text(KEY, message.getKeys());
            }
            if (content != null) {
                record.number(SEQ, content[0]).number(INTENDED_NS, content[1]);
            }
            byte[] outcome = content == null ? refusal(message.getBody()) : !fails ? OK : failNs > 0 ? LATE : FAILS;
            record.raw(outcome).number(STORED_MS, message.getStoreTimestamp())
                .number(RECONSUME, message.getReconsumeTimes()).number(STARTED_NS, startedNs);
            history.write(record.number(FINISHED_NS, System.nanoTime()));
        }
        return succeeded;
    }
}
