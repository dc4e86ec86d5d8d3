package mqlab;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * What a listener does with a message before its consumption is recorded: it takes the application's lock, writes to a file
 * and forces that to disk, and takes its time.
 *
 * <p>None of it heeds an interruption, as a call of a database does not, and a thread that waits here waits with a limit, by
 * which {@link QueueWatch} tells it from one that waits for messages.
 */
public final class Work {
    /** The one lock that the listeners of a process take, if they take any. */
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static volatile CountDownLatch over;

    private final long ns;
    private final boolean locks;
    private final String path;
    private final int bytes;
    private final Map files = new ConcurrentHashMap();

    /** The files of its queues begin with {@code path}; an empty one writes nothing. */
    public Work(long ns, boolean locks, String path, int bytes) {
        this.ns = ns;
        this.locks = locks;
        this.path = path;
        this.bytes = bytes;
    }

    /** Another thread of the application takes the lock, and keeps it until it is told to let go; returns when it has it. */
    public static void holdLock() throws InterruptedException {
        final CountDownLatch taken = new CountDownLatch(1);
        final CountDownLatch end = new CountDownLatch(1);
        over = end;
        Thread holder = new Thread("mqlab-lock-holder") {
            public void run() {
                LOCK.lock();
                try {
                    taken.countDown();
                    end.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                } finally {
                    LOCK.unlock();
                }
            }
        };
        holder.setDaemon(true);
        holder.start();
        taken.await();
    }

    /** Lets the lock go; returns how many listeners waited for it. */
    public static int letLockGo() {
        int waiting = LOCK.getQueueLength();
        over.countDown();
        return waiting;
    }

    /** Until the message of {@code queue} that began at {@code startedNs} is done. */
    void run(long startedNs, MessageQueue queue) {
        if (locks) {
            takeLock();
        }
        try {
            if (!path.isEmpty()) {
                write(queue);
            }
            stay(startedNs + ns);
        } finally {
            if (locks) {
                LOCK.unlock();
            }
        }
    }

    private static void takeLock() {
        boolean interrupted = false;
        boolean taken = false;
        while (!taken) {
            try {
                taken = LOCK.tryLock(1L, TimeUnit.HOURS);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        keep(interrupted);
    }

    /** Always over the same bytes of a file, so that the file system has nothing of its own to write with them. */
    private void write(MessageQueue queue) {
        try {
            FileChannel file = (FileChannel) files.get(queue);
            if (file == null) {
                file = new RandomAccessFile(path + "-" + queue.getBrokerName() + "-" + queue.getQueueId(), "rw").getChannel();
                files.put(queue, file);
            }
            file.write(ByteBuffer.allocate(bytes), 0L);
            file.force(false);
        } catch (IOException e) {
            throw new IllegalStateException("a listener cannot write to " + path, e);
        }
    }

    /** Takes its time; the flag is kept for who asks for it. */
    static void stay(long untilNs) {
        boolean interrupted = false;
        for (long left = untilNs - System.nanoTime(); left > 0; left = untilNs - System.nanoTime()) {
            LockSupport.parkNanos(left);
            interrupted |= Thread.interrupted();
        }
        keep(interrupted);
    }

    private static void keep(boolean interrupted) {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
