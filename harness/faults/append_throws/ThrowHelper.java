package mqlab;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * What the rules of append_throws.btm ask: whether the append that is entered now is the one that has to throw.
 *
 * <p>StallHelper passes "ThrowHelper SECONDS\n" on to ask(); the answer is the System.nanoTime() of the throw, or that no
 * append came in that time. Not final, since Byteman extends its helpers.
 */
public class ThrowHelper {
    private static final AtomicReference ARMED = new AtomicReference();

    private static final class Throw {
        final CountDownLatch done = new CountDownLatch(1);
        volatile long atNs;
    }

    /** Arm, and wait so many seconds for the next append. */
    public static String ask(String seconds) throws Exception {
        Throw next = new Throw();
        ARMED.set(next);
        try {
            boolean thrown = next.done.await(Long.parseLong(seconds), TimeUnit.SECONDS);
            return thrown ? next.atNs + "\n" : "no append came\n";
        } finally {
            ARMED.compareAndSet(next, null);
        }
    }

    /** Condition of the rule at the append's entry: true once each time that it was armed. */
    public boolean throwsNow() {
        Throw next = ARMED.get() == null ? null : (Throw) ARMED.getAndSet(null);
        if (next == null) {
            return false;
        }
        next.atNs = System.nanoTime();
        next.done.countDown();
        return true;
    }
}
