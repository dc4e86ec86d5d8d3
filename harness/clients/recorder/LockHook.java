package mqlab;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/**
 * Records the lock and unlock requests of one consumer instance with what was asked and granted, and the first pull of
 * each queue after its rebalance got the queue's lock: which pull ends a wait, at the cost of one record a hand-over. Of its
 * heartbeats it records when and to whom.
 *
 * <p>The bodies are read as text, since their classes lie in other packages in 4.x and 5.x.
 */
public final class LockHook implements RPCHook {
    private static final int PULL_MESSAGE = 11;
    private static final int HEART_BEAT = 34;
    private static final int LOCK_BATCH_MQ = 41;
    private static final int UNLOCK_BATCH_MQ = 42;
    private static final Pattern QUEUE = Pattern.compile("\\{[^{}]*\"queueId\"[^{}]*\\}");
    private static final Pattern BROKER = Pattern.compile("\"brokerName\":\"([^\"]*)\"");
    private static final Pattern ID = Pattern.compile("\"queueId\":(\\d+)");
    private static final Pattern TOPIC = Pattern.compile("\"topic\":\"([^\"]*)\"");

    /** When and in which thread a request began; 5.x hands the response to a thread of the network's. */
    private static final class Started {
        final long ns = System.nanoTime();
        final String thread = Thread.currentThread().getName();
    }

    private final History history;
    private final byte[] prefix;
    private final byte[] heartbeats;
    private final Guard guard;
    private final String instance;
    private final String group;
    private final Map startedByOpaque = new ConcurrentHashMap();
    private final Map brokerByAddress = new ConcurrentHashMap();
    private final Map pulled = new ConcurrentHashMap();

    public LockHook(History history, Guard guard, String instance, String group) {
        this.history = history;
        this.prefix = history.prefix("rpc");
        this.heartbeats = history.prefix("heartbeat");
        this.guard = guard;
        this.instance = instance;
        this.group = group;
    }

    public void doBeforeRequest(String remoteAddr, RemotingCommand request) {
        guard.doBeforeRequest(remoteAddr, request);
        if (request.getCode() == PULL_MESSAGE) {
            pull(remoteAddr, request);
        }
        if (request.getCode() == HEART_BEAT) {
            history.write(History.begin(heartbeats).text("instance", instance).text("group", group)
                .text("address", remoteAddr).number("started_ns", System.nanoTime()));
        }
        if (request.getCode() != LOCK_BATCH_MQ && request.getCode() != UNLOCK_BATCH_MQ) {
            return;
        }
        Started started = new Started();
        if (request.isOnewayRPC()) {
            record(remoteAddr, request, started, null);
        } else {
            startedByOpaque.put(Integer.valueOf(request.getOpaque()), started);
        }
    }

    public void doAfterResponse(String remoteAddr, RemotingCommand request, RemotingCommand response) {
        Started started = (Started) startedByOpaque.remove(Integer.valueOf(request.getOpaque()));
        if (started != null) {
            record(remoteAddr, request, started, response);
        }
    }

    private void record(String address, RemotingCommand request, Started started, RemotingCommand response) {
        String asked = text(request.getBody());
        brokerByAddress.put(address, first(BROKER, asked));
        Record record = History.begin(prefix);
        record.text("instance", instance).text("group", group).number("code", request.getCode())
            .text("thread", started.thread).text("address", address).text("topic", first(TOPIC, asked));
        queues(record, "asked", asked);
        record.number("started_ns", started.ns);
        if (response != null) {
            record.number("response", response.getCode());
            String granted = text(response.getBody());
            queues(record, "granted", granted);
            forget(asked, granted);
            record.number("finished_ns", System.nanoTime());
        }
        history.write(record);
    }

    /** A pull request names no broker in 4.x; the lock request that came before it to the same address did. */
    private void pull(String address, RemotingCommand request) {
        String broker = (String) brokerByAddress.get(address);
        if (broker == null) {
            return;
        }
        Object header = request.readCustomHeader();
        String topic = field(header, "getTopic");
        String queue = broker + ":" + field(header, "getQueueId");
        if (topic.startsWith("%RETRY%") || pulled.put(queue, queue) != null) {
            return;
        }
        Started started = new Started();
        Record record = History.begin(prefix);
        record.text("instance", instance).text("group", group).number("code", PULL_MESSAGE)
            .text("thread", started.thread).text("address", address).text("topic", topic);
        record.raw(Record.field("asked")).raw(("[\"" + queue + "\"]").getBytes(StandardCharsets.UTF_8));
        history.write(record.number("started_ns", started.ns));
    }

    private static String field(Object header, String getter) {
        try {
            return String.valueOf(header.getClass().getMethod(getter, new Class[0]).invoke(header, new Object[0]));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(header.getClass().getName() + " has no " + getter, e);
        }
    }

    /** The rebalance asks for one queue at a time; when it gets it, the next pull is the first one. */
    private void forget(String asked, String granted) {
        Matcher queue = QUEUE.matcher(asked);
        if (queue.find() && !queue.find() && QUEUE.matcher(granted).find()) {
            pulled.remove(first(BROKER, asked) + ":" + first(ID, asked));
        }
    }

    private static void queues(Record record, String name, String body) {
        StringBuilder list = new StringBuilder("[");
        Matcher queue = QUEUE.matcher(body);
        boolean more = false;
        while (queue.find()) {
            if (first(TOPIC, queue.group()).startsWith("%RETRY%")) {
                continue; // a client locks its retry queue, too, which has the number of one of the topic's
            }
            list.append(more ? ",\"" : "\"").append(first(BROKER, queue.group())).append(':')
                .append(first(ID, queue.group())).append('"');
            more = true;
        }
        record.raw(Record.field(name)).raw(list.append(']').toString().getBytes(StandardCharsets.UTF_8));
    }

    private static String first(Pattern pattern, String text) {
        Matcher matcher = pattern.matcher(text);
        return matcher.find() ? matcher.group(1) : "";
    }

    private static String text(byte[] body) {
        return body == null ? "" : new String(body, StandardCharsets.UTF_8);
    }
}
