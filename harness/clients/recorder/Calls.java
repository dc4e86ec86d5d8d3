package mqlab;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.remoting.RemotingClient;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/**
 * Records each call with which a producer hands a message to its network client, and what the call threw.
 *
 * <p>A hook of requests ({@link Attempts}) sees only those that have a connection. Here a broker that refuses one is seen
 * as well, and a send that is tried again without the producer's knowledge, as asynchronous ones are.
 */
public final class Calls implements InvocationHandler {
    private static final byte[] ANY_RUN = new byte[0];
    private static final byte[] SEQ = Record.field("seq");
    private static final byte[] BROKER = Record.field("broker");
    private static final byte[] AT_NS = Record.field("at_ns");
    private static final byte[] ERROR = Record.field("error");

    private final RemotingClient client;
    private final Map brokers;
    private final History history;
    private final byte[] prefix;

    private Calls(RemotingClient client, Map brokers, History history) {
        this.client = client;
        this.brokers = brokers;
        this.history = history;
        this.prefix = history.prefix("call");
    }

    /** From now on; {@code brokers} are their names by address. */
    public static void record(DefaultMQProducer producer, Map brokers, History history) throws Exception {
        MQClientAPIImpl api = producer.getDefaultMQProducerImpl().getmQClientFactory().getMQClientAPIImpl();
        Field field = MQClientAPIImpl.class.getDeclaredField("remotingClient");
        field.setAccessible(true);
        Calls calls = new Calls((RemotingClient) field.get(api), brokers, history);
        Class[] kinds = new Class[] {RemotingClient.class};
        field.set(api, Proxy.newProxyInstance(RemotingClient.class.getClassLoader(), kinds, calls));
    }

    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        long[] message = message(arguments);
        long atNs = System.nanoTime();
        Throwable thrown = null;
        try {
            return method.invoke(client, arguments);
        } catch (InvocationTargetException e) {
            thrown = e.getCause();
            throw thrown;
        } finally {
            if (message != null) {
                write(message[0], (String) arguments[0], atNs, thrown);
            }
        }
    }

    private static long[] message(Object[] arguments) {
        if (arguments == null || arguments.length < 2 || !(arguments[1] instanceof RemotingCommand)) {
            return null;
        }
        return Body.read(((RemotingCommand) arguments[1]).getBody(), ANY_RUN);
    }

    private void write(long seq, String address, long atNs, Throwable thrown) {
        Object name = brokers.get(address);
        Record record = History.begin(prefix).number(SEQ, seq).text(BROKER, name == null ? address : (String) name)
            .number(AT_NS, atNs);
        if (thrown != null) {
            record.text(ERROR, thrown.getClass().getSimpleName());
        }
        history.write(record);
    }
}
