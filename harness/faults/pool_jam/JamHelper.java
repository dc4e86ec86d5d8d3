package mqlab;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/**
 * What the rule of pool_jam.btm asks: whether the thread that has taken a request is one of the jammed pool.
 *
 * <p>StallHelper passes "JamHelper THREAD_NAME_PREFIX MILLISECONDS\n" on to ask(). The jam begins with the pool's next
 * request, and every thread that takes one stands still until its end. The answer is begin and end by System.nanoTime(),
 * or that no request came. Not final, since Byteman extends its helpers.
 */
public class JamHelper {
    /** An armed jam that no request meets is given up after this time. */
    private static final long REQUEST_WAIT_S_MAX = 30;

    private static final AtomicReference JAM = new AtomicReference();

    private static final class Jam {
        final String threads;
        final long nanos;
        final CountDownLatch done = new CountDownLatch(1);
        long beginNs;
        volatile long endNs;

        Jam(String threads, long nanos) {
            this.threads = threads;
            this.nanos = nanos;
        }

        /** Whether this is the first one, whose stamps are the jam's. */
        synchronized boolean begin() {
            if (beginNs != 0) {
                return false;
            }
            beginNs = System.nanoTime();
            return true;
        }

        synchronized long begunNs() {
            return beginNs;
        }

        void stand() {
            boolean isFirst = begin();
            long end = begunNs() + nanos;
            long left = end - System.nanoTime();
            while (left > 0) {
                LockSupport.parkNanos(left);
                left = end - System.nanoTime();
            }
            if (isFirst) {
                endNs = System.nanoTime();
                done.countDown();
            }
        }
    }

    /** Arm, and wait until the jam has ended. */
    public static String ask(String line) throws Exception {
        int space = line.indexOf(' ');
        Jam jam = new Jam(line.substring(0, space), (long) (Double.parseDouble(line.substring(space + 1)) * 1e6));
        JAM.set(jam);
        try {
            long limit = REQUEST_WAIT_S_MAX * 1000000000L + jam.nanos;
            boolean ended = jam.done.await(limit, TimeUnit.NANOSECONDS);
            return ended ? jam.begunNs() + " " + jam.endNs + "\n" : "no request came\n";
        } finally {
            JAM.compareAndSet(jam, null);
        }
    }

    /** Condition of the rule, as a thread takes a request. */
    public boolean jams() {
        Jam jam = (Jam) JAM.get();
        return jam != null && Thread.currentThread().getName().startsWith(jam.threads);
    }

    /** Action of the rule: until the jam ends. */
    public void stand() {
        Jam jam = (Jam) JAM.get();
        if (jam != null) {
            jam.stand();
        }
    }
}
