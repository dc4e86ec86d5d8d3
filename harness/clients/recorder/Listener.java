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
    private final History history;
    private final String instance;
    private final String group;
    private final long workNs;

    public Listener(History history, String instance, String group, long workNs) {
        this.history = history;
        this.instance = instance;
        this.group = group;
        this.workNs = workNs;
    }

    public MessageListenerOrderly ordered() {
        return new MessageListenerOrderly() {
            public ConsumeOrderlyStatus consumeMessage(List messages, ConsumeOrderlyContext context) {
                record(messages, context.getMessageQueue());
                return ConsumeOrderlyStatus.SUCCESS;
            }
        };
    }

    public MessageListenerConcurrently concurrent() {
        return new MessageListenerConcurrently() {
            public ConsumeConcurrentlyStatus consumeMessage(List messages, ConsumeConcurrentlyContext context) {
                record(messages, context.getMessageQueue());
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            }
        };
    }

    private void record(List messages, MessageQueue queue) {
        for (int i = 0; i < messages.size(); i++) {
            MessageExt message = (MessageExt) messages.get(i);
            long startedNs = System.nanoTime();
            long[] content = Body.read(message.getBody());
            if (workNs > 0) {
                java.util.concurrent.locks.LockSupport.parkNanos(workNs);
            }
            StringBuilder record = history.begin("consume");
            History.text(record, "instance", instance);
            History.text(record, "group", group);
            History.text(record, "topic", queue.getTopic());
            History.text(record, "broker", queue.getBrokerName());
            History.number(record, "queue", queue.getQueueId());
            History.number(record, "offset", message.getQueueOffset());
            History.text(record, "key", message.getKeys());
            if (content != null) {
                History.number(record, "seq", content[0]);
                History.number(record, "intended_ns", content[1]);
            }
            History.text(record, "outcome", content == null ? "failed" : "ok");
            History.number(record, "stored_ms", message.getStoreTimestamp());
            History.number(record, "reconsume", message.getReconsumeTimes());
            History.number(record, "started_ns", startedNs);
            history.write(History.number(record, "finished_ns", System.nanoTime()));
        }
    }
}
