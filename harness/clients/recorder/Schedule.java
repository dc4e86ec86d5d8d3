package mqlab;

import java.util.concurrent.locks.LockSupport;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;

/**
 * An open loop: when operation i is due depends on the rates that were asked for and on nothing else.
 *
 * <p>The schedule is a line of pieces of constant rate. Each knows how many operations were due before it, as a number
 * with a fraction, so that a change of rate neither loses nor adds one. Threads walk along it and never step back.
 */
public final class Schedule extends Load {
    /** A long park oversleeps by more than a short one: come close, then park for the rest. */
    private static final long CLOSE_NS = 1000000L;

    /** From {@code startNs} on; the operation with number {@code from} would be due at that moment. */
    private static final class Piece {
        final long startNs;
        final double from;
        final double rateHz;
        volatile Piece next;

        Piece(long startNs, double from, double rateHz) {
            this.startNs = startNs;
            this.from = from;
            this.rateHz = rateHz;
        }

        double at(long ns) {
            return from + (ns - startNs) * rateHz / 1e9;
        }

        long dueNs(long index) {
            return startNs + (long) ((index - from) * 1e9 / rateHz);
        }
    }

    private final Piece first;
    private final long operations;
    private Piece last;
    private volatile long skippedBelow;
    private long abandoned;

    public Schedule(DefaultMQProducer producer, History history, Settings settings, long startNs, double rateHz,
        long operations) throws MQClientException {
        super(producer, history, settings);
        this.first = new Piece(startNs, 0, rateHz);
        this.last = first;
        this.operations = operations;
        startThreads();
    }

    public synchronized void steer(double rateHz) {
        long nowNs = Math.max(System.nanoTime(), last.startNs);
        Piece piece = new Piece(nowNs, last.at(nowNs), rateHz);
        last.next = piece;
        last = piece;
        wake();
    }

    public synchronized long due() {
        if (stopped) {
            return issued();
        }
        long nowNs = System.nanoTime();
        long count = nowNs < first.startNs ? 0 : (long) Math.ceil(last.at(nowNs));
        long batches = (count + settings.batch - 1) / settings.batch;
        return Math.min(batches * settings.batch, operations) - abandoned;
    }

    public synchronized long abandon() {
        long left = Math.max(0, due() - issued());
        skippedBelow = (long) Math.ceil(last.at(System.nanoTime()));
        abandoned += left;
        return left;
    }

    int priority() {
        return Thread.MAX_PRIORITY;
    }

    void run(int thread) {
        Piece piece = first;
        long index = 0;
        while (index < operations && !stopped) {
            Piece next = piece.next;
            if (next != null && index >= next.from) {
                piece = next;
            } else if (piece.rateHz <= 0) {
                LockSupport.parkNanos(IDLE_NS);
            } else if (index < skippedBelow || !sends.isOf(thread, index)) {
                index += settings.batch;
            } else {
                long dueNs = piece.dueNs(index);
                long wait = dueNs - System.nanoTime();
                if (wait > 0) {
                    LockSupport.parkNanos(wait > 2 * CLOSE_NS ? Math.min(wait - CLOSE_NS, IDLE_NS) : wait);
                } else {
                    send(index, dueNs);
                    index += settings.batch;
                }
            }
        }
    }
}
