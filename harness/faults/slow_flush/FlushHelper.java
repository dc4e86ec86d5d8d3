package mqlab;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * What the rules of slow_flush.btm ask: for how long the force of a commit-log file to disk is held up.
 *
 * <p>StallHelper passes "FlushHelper MILLISECONDS\n" on to ask(): every force of the commit log is held up for so long from now
 * on, none with 0; its answer is how many have been so far. Not final, since Byteman extends its helpers.
 */
public class FlushHelper {
    private static final AtomicLong HELD = new AtomicLong();
    private static volatile long everyNs;

    /** Switch on or off; at once. */
    public static String ask(String line) {
        everyNs = (long) (Double.parseDouble(line) * 1e6);
        return HELD.get() + "\n";
    }

    /** Condition of the rules. */
    public boolean slows() {
        return everyNs > 0;
    }

    /** Action of the rules, with the name of the file that is forced: queues have files of the same class. */
    public void slow(String file) {
        if (file.indexOf("commitlog") < 0) {
            return;
        }
        HELD.incrementAndGet();
        long end = System.nanoTime() + everyNs;
        long left = end - System.nanoTime();
        while (left > 0) {
            LockSupport.parkNanos(left);
            left = end - System.nanoTime();
        }
    }
}
