package mqlab;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;

/** What sends, whatever decides when: a {@link Schedule} or a {@link Saturation}. */
public abstract class Load {
    /** A thread that has nothing to do looks this often whether that has changed. */
    static final long IDLE_NS = 50000000L;

    final Settings settings;
    final Sends sends;
    private final Tally tally = new Tally();
    private final AtomicLong issued = new AtomicLong();
    private final AtomicLong ended = new AtomicLong();
    private Thread[] threads = new Thread[0];
    volatile boolean stopped;

    Load(DefaultMQProducer producer, History history, Settings settings) throws MQClientException {
        this.settings = settings;
        this.sends = new Sends(producer, history, settings, tally, this);
    }

    /** Changes the load from now on: the rate in messages a second, or how many are on their way at once. */
    public abstract void steer(double to);

    /** Messages that should have been issued by now. */
    public abstract long due();

    /** Forgets what was due and has not been issued; returns how much that is. */
    public abstract long abandon();

    abstract void run(int thread);

    /** Of its threads; only a Java that was told to ({@code ThreadPriorityPolicy}) hands it to the kernel. */
    int priority() {
        return Thread.NORM_PRIORITY;
    }

    void startThreads() {
        Thread[] made = new Thread[settings.threads];
        for (int t = 0; t < made.length; t++) {
            final int number = t;
            made[t] = new Thread("mqlab-load-" + t) {
                public void run() {
                    Load.this.run(number);
                }
            };
            made[t].setDaemon(true);
            made[t].setPriority(priority());
        }
        threads = made;
        for (int t = 0; t < made.length; t++) {
            made[t].start();
        }
    }

    void send(long index, long intendedNs) {
        issued.addAndGet(settings.batch);
        sends.send(index, intendedNs);
    }

    /** Told once for every message that was issued. */
    void oneEnded() {
        ended.incrementAndGet();
    }

    void wake() {
        for (int t = 0; t < threads.length; t++) {
            LockSupport.unpark(threads[t]);
        }
    }

    /** Issues nothing more; what is under way may still end. */
    public void stop() {
        stopped = true;
        wake();
    }

    public long issued() {
        return issued.get();
    }

    public long ended() {
        return ended.get();
    }

    public boolean isSending() {
        for (int t = 0; t < threads.length; t++) {
            if (threads[t].isAlive()) {
                return true;
            }
        }
        return false;
    }

    /** See {@link Tally#take}. */
    public String take() {
        return tally.take();
    }
}
