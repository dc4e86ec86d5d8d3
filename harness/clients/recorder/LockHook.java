package mqlab;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/**
 * Records the lock and unlock requests of one consumer instance with what was asked and granted.
 *
 * <p>The bodies are read as text, since their classes lie in other packages in 4.x and 5.x.
 */
public final class LockHook implements RPCHook {
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
    private final String instance;
    private final String group;
    private final Map startedByOpaque = new ConcurrentHashMap();

    public LockHook(History history, String instance, String group) {
        this.history = history;
        this.instance = instance;
        this.group = group;
    }

    public void doBeforeRequest(String remoteAddr, RemotingCommand request) {
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
        StringBuilder record = history.begin("rpc");
        History.text(record, "instance", instance);
        History.text(record, "group", group);
        History.number(record, "code", request.getCode());
        History.text(record, "thread", started.thread);
        History.text(record, "address", address);
        History.text(record, "topic", first(TOPIC, asked));
        queues(record, "asked", asked);
        History.number(record, "started_ns", started.ns);
        if (response != null) {
            History.number(record, "response", response.getCode());
            queues(record, "granted", text(response.getBody()));
            History.number(record, "finished_ns", System.nanoTime());
        }
        history.write(record);
    }

    private static void queues(StringBuilder record, String name, String body) {
        record.append(",\"").append(name).append("\":[");
        Matcher queue = QUEUE.matcher(body);
        boolean more = false;
        while (queue.find()) {
            if (first(TOPIC, queue.group()).startsWith("%RETRY%")) {
                continue; // a client locks its retry queue, too, which has the number of one of the topic's
            }
            record.append(more ? ",\"" : "\"").append(first(BROKER, queue.group())).append(':')
                .append(first(ID, queue.group())).append('"');
            more = true;
        }
        record.append(']');
    }

    private static String first(Pattern pattern, String text) {
        Matcher matcher = pattern.matcher(text);
        return matcher.find() ? matcher.group(1) : "";
    }

    private static String text(byte[] body) {
        return body == null ? "" : new String(body, StandardCharsets.UTF_8);
    }
}
