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
 * What the Byteman rules call inside a broker: one append, once armed, sleeps under the put lock and is stamped.
 *
 * <p>A stall is armed over a loopback connection: "stall MILLISECONDS\n" in, "ENTRY DELAY_END EXIT\n" out, all three
 * System.nanoTime() of this JVM, which on Linux is the host's monotonic clock. The rules are loaded once, at the
 * broker's start, so that arming does not retransform a class in the middle of a trial. A connection that closes before
 * the append has come disarms it. One at a time. Not final, since Byteman extends its helpers.
 */
public class StallHelper {
    /** An armed stall that no append meets is given up after this time. */
    private static final long APPEND_WAIT_S_MAX = 30;

    private static final AtomicReference ARMED = new AtomicReference();
    private static final AtomicReference STALLED = new AtomicReference();

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
            if (line == null || !line.startsWith("stall ")) {
                return;
            }
            Stall stall = new Stall((long) (Double.parseDouble(line.substring(6)) * 1e6));
            ARMED.set(stall);
            String answer = "no append came\n";
            long limit = APPEND_WAIT_S_MAX * 1000000000L + stall.nanos;
            if (stall.done.await(limit, TimeUnit.NANOSECONDS)) {
                answer = stall.entryNs + " " + stall.delayEndNs + " " + stall.exitNs + "\n";
            }
            ARMED.compareAndSet(stall, null);
            OutputStream out = socket.getOutputStream();
            out.write(answer.getBytes(StandardCharsets.US_ASCII));
            out.flush();
        } finally {
            socket.close();
        }
    }

    /** Condition of the rule at the append's entry. */
    public boolean armed() {
        return ARMED.get() != null;
    }

    /** Action of the rule at the append's entry. */
    public void stall() {
        Stall stall = (Stall) ARMED.getAndSet(null);
        if (stall == null) {
            return;
        }
        stall.thread = Thread.currentThread();
        STALLED.set(stall);
        stall.entryNs = System.nanoTime();
        long end = stall.entryNs + stall.nanos;
        long left = stall.nanos;
        while (left > 0) {
            LockSupport.parkNanos(left);
            left = end - System.nanoTime();
        }
        stall.delayEndNs = System.nanoTime();
    }

    /** Condition of the rule at the append's exit. */
    public boolean stalled() {
        Stall stall = (Stall) STALLED.get();
        return stall != null && stall.thread == Thread.currentThread();
    }

    /** Action of the rule at the append's exit. */
    public void exited() {
        Stall stall = (Stall) STALLED.getAndSet(null);
        stall.exitNs = System.nanoTime();
        stall.done.countDown();
    }
}
