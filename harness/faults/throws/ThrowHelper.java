package mqlab;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * What rules ask that throw once: whether what is entered now is what has to throw.
 *
 * <p>StallHelper passes "ThrowHelper WHAT SECONDS\n" on to ask(); WHAT is the word that a rule asks by. The answer is the
 * System.nanoTime() of the throw, or that nothing came in that time. Not final, since Byteman extends its helpers.
 */
public class ThrowHelper {
    private static final ConcurrentHashMap ARMED = new ConcurrentHashMap();

    private static final class Throw {
        final CountDownLatch done = new CountDownLatch(1);
        volatile long atNs;
    }

    /** Arm, and wait so many seconds for the next one. */
    public static String ask(String line) throws Exception {
        String[] words = line.split(" ");
        Throw next = new Throw();
        ARMED.put(words[0], next);
        try {
            boolean thrown = next.done.await(Long.parseLong(words[1]), TimeUnit.SECONDS);
            return thrown ? next.atNs + "\n" : "no " + words[0] + " came\n";
        } finally {
            ARMED.remove(words[0], next);
        }
    }

    /** Condition of a rule at a method's entry: true once each time that this word was armed. */
    public boolean throwsNow(String what) {
        Throw next = ARMED.isEmpty() ? null : (Throw) ARMED.remove(what);
        if (next == null) {
            return false;
        }
        next.atNs = System.nanoTime();
        next.done.countDown();
        return true;
    }
}
