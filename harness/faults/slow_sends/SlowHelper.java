package mqlab;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * What the rules of slow_sends.btm ask: for how long a send is held up in its send thread, before it reaches the store.
 *
 * <p>StallHelper passes "SlowHelper arm TOPIC MILLISECONDS\n" on to ask(): the topic's next send is held up for so long, and
 * no other one. "SlowHelper stamps TOPIC\n" is answered with begin and end by System.nanoTime(), 0 for what has not come.
 * "SlowHelper all MILLISECONDS\n" holds up every send from now on, none with 0; its answer is how many it has been so far.
 * Not final, since Byteman extends its helpers.
 */
public class SlowHelper {
    private static final ConcurrentHashMap ARMED = new ConcurrentHashMap();
    private static final ConcurrentHashMap BEGUN = new ConcurrentHashMap();

    private static final AtomicLong HELD = new AtomicLong();
    private static volatile long everyNs;

    private static final class Slow {
        final long nanos;
        volatile long beginNs;
        volatile long endNs;

        Slow(long nanos) {
            this.nanos = nanos;
        }
    }

    /** Arm, or say what has come of it; at once. */
    public static String ask(String line) {
        String[] words = line.split(" ");
        if (words[0].equals("arm")) {
            BEGUN.remove(words[1]);
            ARMED.put(words[1], new Slow((long) (Double.parseDouble(words[2]) * 1e6)));
            return System.nanoTime() + "\n";
        }
        if (words[0].equals("all")) {
            everyNs = (long) (Double.parseDouble(words[1]) * 1e6);
            return HELD.get() + "\n";
        }
        Slow slow = (Slow) BEGUN.get(words[1]);
        return slow == null ? "0 0\n" : slow.beginNs + " " + slow.endNs + "\n";
    }

    /** Condition of the rules. */
    public boolean slows() {
        return everyNs > 0 || !ARMED.isEmpty();
    }

    /** Action of the rules: hold up the send whose header this is, if it is the next one of an armed topic. */
    public void slow(Object header) throws Exception {
        Object topic = header.getClass().getMethod("getTopic", new Class[0]).invoke(header, new Object[0]);
        Slow slow = (Slow) ARMED.remove(topic);
        if (slow != null) {
            slow.beginNs = System.nanoTime();
            BEGUN.put(topic, slow);
            stay(slow.beginNs + slow.nanos);
            slow.endNs = System.nanoTime();
        } else if (everyNs > 0) {
            HELD.incrementAndGet();
            stay(System.nanoTime() + everyNs);
        }
    }

    private static void stay(long end) {
        long left = end - System.nanoTime();
        while (left > 0) {
            LockSupport.parkNanos(left);
            left = end - System.nanoTime();
        }
    }
}
