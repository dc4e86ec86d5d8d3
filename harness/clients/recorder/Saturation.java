package mqlab;

import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;

/**
 * A closed loop: a fixed number of messages (or batches) is on its way at any time, and an answer makes room for the
 * next. It finds the most that goes through; its latencies are not those of a load that does not wait.
 *
 * <p>Sends that wait for their answer take a thread each, so that the number is at most {@code threads}; asynchronous
 * ones are issued by a single thread.
 */
public final class Saturation extends Load {
    private static final int MOST = 1 << 20;

    private final AtomicLong next = new AtomicLong();
    private final Semaphore free = new Semaphore(0);
    private final AtomicLong debt = new AtomicLong();
    private final boolean async;
    private volatile int atOnce;

    public Saturation(DefaultMQProducer producer, History history, Settings settings) throws MQClientException {
        super(producer, history, settings);
        this.async = settings.mode.equals("async");
        startThreads();
    }

    public synchronized void steer(double to) {
        int wanted = (int) Math.min(Math.max(Math.round(to), 0), MOST);
        int change = wanted - atOnce;
        atOnce = wanted;
        if (async && change > 0) {
            free.release(change);
        } else if (async) {
            owe(-change);
        }
        wake();
    }

    /** Takes back what is free; the rest is taken when what is on its way ends. */
    private void owe(int permits) {
        int taken = 0;
        while (taken < permits && free.tryAcquire()) {
            taken++;
        }
        debt.addAndGet(permits - taken);
    }

    public long due() {
        return issued();
    }

    public long abandon() {
        return 0;
    }

    void run(int thread) {
        while (!stopped) {
            if (async ? !acquired() : thread >= atOnce) {
                LockSupport.parkNanos(IDLE_NS);
            } else {
                send(next.getAndAdd(settings.batch), -1);
            }
        }
    }

    private boolean acquired() {
        try {
            return free.tryAcquire(IDLE_NS, java.util.concurrent.TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            return false;
        }
    }

    void oneEnded() {
        super.oneEnded();
        if (async && !repaid()) {
            free.release();
        }
    }

    private boolean repaid() {
        long owed = debt.get();
        while (owed > 0) {
            if (debt.compareAndSet(owed, owed - 1)) {
                return true;
            }
            owed = debt.get();
        }
        return false;
    }
}
