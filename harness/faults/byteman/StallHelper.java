package mqlab;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/**
 * What the Byteman rules call inside a broker: one append, once armed, sleeps under the put lock and is stamped; or
 * appends are stamped and nothing else, while something outside of the broker stalls them. Beside these, one commit of
 * the transient store pool may sleep, and requests may be held up in their send thread before they reach the store.
 *
 * <p>A stall is armed over a loopback connection: "stall MILLISECONDS\n" in, "ENTRY DELAY_END EXIT\n" out, all three
 * System.nanoTime() of this JVM, which on Linux is the host's monotonic clock. "watch\n" in, "watching\n" out begins a
 * watch; "end\n" in, "ENTRY EXIT\n" out ends it with the longest append, "tally\n" in, "APPENDS UNDER_1_MS OVER_500_MS
 * SUM_NS LONGEST_NS\n" out with all of them. "commit MILLISECONDS\n" in, "ENTRY DELAY_END\n" out stalls a commit. "delay
 * MILLISECONDS FOR_MILLISECONDS\n" in, "delaying\n" out holds up each request for so long, for so long. The rules are loaded once, at the broker's
 * start, so that arming does not retransform a class in the middle of a trial. One at a time; a watch whose connection
 * closes is over. Not final, since Byteman extends its helpers.
 */
public class StallHelper {
    /** An armed stall that no append meets is given up after this time. */
    private static final long APPEND_WAIT_S_MAX = 30;

    private static final AtomicReference ARMED = new AtomicReference();
    private static final AtomicReference STALLED = new AtomicReference();
    private static final AtomicReference WATCH = new AtomicReference();
    private static final AtomicReference COMMIT = new AtomicReference();

    /** How long requests are held up before the store, and until when they are. */
    private static volatile long delayNs;
    private static volatile long delayUntilNs = System.nanoTime();

    private static final class Stall {
        final long nanos;
        final CountDownLatch done = new CountDownLatch(1);
        volatile Thread thread;
        volatile long entryNs;
        volatile long delayEndNs;
        volatile long exitNs;

        Stall(long nanos) {
            this.nanos = nanos;
        }

        void sleep() {
            entryNs = System.nanoTime();
            sleepUntil(entryNs + nanos);
            delayEndNs = System.nanoTime();
        }
    }

    /** Appends run under one lock, so at most one is under way. */
    private static final class Watch {
        private Thread thread;
        private long entryNs;
        private long longestEntryNs;
        private long longestExitNs;
        private long count;
        private long countShort;
        private long countSlow;
        private long sumNs;

        synchronized void entered() {
            thread = Thread.currentThread();
            entryNs = System.nanoTime();
        }

        synchronized boolean isMine() {
            return thread == Thread.currentThread();
        }

        synchronized void exited() {
            long exitNs = System.nanoTime();
            thread = null;
            count++;
            countShort += exitNs - entryNs < 1000000L ? 1 : 0;
            countSlow += exitNs - entryNs > 500000000L ? 1 : 0;
            sumNs += exitNs - entryNs;
            if (exitNs - entryNs > longestExitNs - longestEntryNs) {
                longestEntryNs = entryNs;
                longestExitNs = exitNs;
            }
            notifyAll();
        }

        synchronized String longest(long limitNs) throws InterruptedException {
            settle(limitNs);
            return longestExitNs == 0 ? "no append ended\n" : longestEntryNs + " " + longestExitNs + "\n";
        }

        synchronized String tally(long limitNs) throws InterruptedException {
            settle(limitNs);
            return count + " " + countShort + " " + countSlow + " " + sumNs + " " + (longestExitNs - longestEntryNs)
                + "\n";
        }

        private void settle(long limitNs) throws InterruptedException {
            long end = System.nanoTime() + limitNs;
            while (thread != null && System.nanoTime() < end) {
                wait(10);
            }
        }
    }

    /** Byteman calls this when the first rule that names this helper is installed. */
    public static void activated() throws Exception {
        final ServerSocket server =
            new ServerSocket(Integer.getInteger("mqlab.stall.port").intValue(), 4, InetAddress.getByName("127.0.0.1"));
        Thread control = new Thread("mqlab-stall-control") {
            public void run() {
                while (true) {
                    try {
                        serve(server.accept());
                    } catch (Throwable e) {
                        e.printStackTrace();
                    }
                }
            }
        };
        control.setDaemon(true);
        control.start();
    }

    private static void serve(Socket socket) throws Exception {
        try {
            BufferedReader in =
                new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
            String line = in.readLine();
            if ("watch".equals(line)) {
                watch(in, socket);
            } else if (line != null && line.startsWith("stall ")) {
                say(socket, stallNext(Double.parseDouble(line.substring(6))));
            } else if (line != null && line.startsWith("commit ")) {
                say(socket, stallCommit(Double.parseDouble(line.substring(7))));
            } else if (line != null && line.startsWith("delay ")) {
                String[] words = line.split(" ");
                delayNs = (long) (Double.parseDouble(words[1]) * 1e6);
                delayUntilNs = System.nanoTime() + (long) (Double.parseDouble(words[2]) * 1e6);
                say(socket, "delaying\n");
            } else if (line != null && line.indexOf("Helper ") > 0) {
                say(socket, askOther(line));
            }
        } finally {
            socket.close();
        }
    }

    /** The helper of another rule: "ThrowHelper 30\n" in, and out what its static String ask(String) makes of "30". */
    private static String askOther(String line) throws Exception {
        int end = line.indexOf(' ');
        Class helper = Class.forName("mqlab." + line.substring(0, end));
        Object[] asked = new Object[] {line.substring(end + 1)};
        return (String) helper.getMethod("ask", new Class[] {String.class}).invoke(null, asked);
    }

    private static String stallNext(double millis) throws Exception {
        Stall stall = new Stall((long) (millis * 1e6));
        ARMED.set(stall);
        try {
            long limit = APPEND_WAIT_S_MAX * 1000000000L + stall.nanos;
            boolean ended = stall.done.await(limit, TimeUnit.NANOSECONDS);
            return ended ? stall.entryNs + " " + stall.delayEndNs + " " + stall.exitNs + "\n" : "no append came\n";
        } finally {
            ARMED.compareAndSet(stall, null);
        }
    }

    private static String stallCommit(double millis) throws Exception {
        Stall stall = new Stall((long) (millis * 1e6));
        COMMIT.set(stall);
        try {
            long limit = APPEND_WAIT_S_MAX * 1000000000L + stall.nanos;
            boolean ended = stall.done.await(limit, TimeUnit.NANOSECONDS);
            return ended ? stall.entryNs + " " + stall.delayEndNs + "\n" : "no commit came\n";
        } finally {
            COMMIT.compareAndSet(stall, null);
        }
    }

    private static void watch(BufferedReader in, Socket socket) throws Exception {
        Watch watch = new Watch();
        WATCH.set(watch);
        try {
            say(socket, "watching\n");
            String line = in.readLine();
            if ("end".equals(line)) {
                say(socket, watch.longest(APPEND_WAIT_S_MAX * 1000000000L));
            } else if ("tally".equals(line)) {
                say(socket, watch.tally(APPEND_WAIT_S_MAX * 1000000000L));
            }
        } finally {
            WATCH.set(null);
        }
    }

    private static void say(Socket socket, String answer) throws Exception {
        OutputStream out = socket.getOutputStream();
        out.write(answer.getBytes(StandardCharsets.US_ASCII));
        out.flush();
    }

    /** Condition of the rule at the append's entry. */
    public boolean armed() {
        return ARMED.get() != null || WATCH.get() != null;
    }

    /** Action of the rule at the append's entry. */
    public void stall() {
        Watch watch = (Watch) WATCH.get();
        if (watch != null) {
            watch.entered();
        }
        Stall stall = (Stall) ARMED.getAndSet(null);
        if (stall == null) {
            return;
        }
        stall.thread = Thread.currentThread();
        STALLED.set(stall);
        stall.sleep();
    }

    /** Condition of the rule at a commit's entry. */
    public boolean commitArmed() {
        return COMMIT.get() != null;
    }

    /** Action of the rule at a commit's entry. */
    public void stallThisCommit() {
        Stall stall = (Stall) COMMIT.getAndSet(null);
        if (stall != null) {
            stall.sleep();
            stall.done.countDown();
        }
    }

    /** Condition of the rule at the store's entry. */
    public boolean delaying() {
        return delayNs > 0 && System.nanoTime() - delayUntilNs < 0;
    }

    /** Action of the rule at the store's entry. */
    public void delay() {
        sleepUntil(System.nanoTime() + delayNs);
    }

    private static void sleepUntil(long end) {
        long left = end - System.nanoTime();
        while (left > 0) {
            LockSupport.parkNanos(left);
            left = end - System.nanoTime();
        }
    }

    /** Condition of the rule at the append's exit. */
    public boolean stalled() {
        return isMine((Watch) WATCH.get()) || isMine((Stall) STALLED.get());
    }

    private static boolean isMine(Watch watch) {
        return watch != null && watch.isMine();
    }

    private static boolean isMine(Stall stall) {
        return stall != null && stall.thread == Thread.currentThread();
    }

    /** Action of the rule at the append's exit. */
    public void exited() {
        Watch watch = (Watch) WATCH.get();
        if (isMine(watch)) {
            watch.exited();
        }
        Stall stall = (Stall) STALLED.get();
        if (isMine(stall)) {
            STALLED.set(null);
            stall.exitNs = System.nanoTime();
            stall.done.countDown();
        }
    }
}
