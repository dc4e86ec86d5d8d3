package mqlab;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;

/**
 * What an application keeps in its heap: objects that point at each other without any order, so that a collection that has to
 * follow them all finds hardly one of them in a cache.
 */
public final class LiveSet {
    private static final int LINKS = 1 << 20;
    /** Arrays of so many objects that there are at the first collection. */
    private static final int FIRST = 16;
    /** How the collector of the whole heap is called by -XX:+UseSerialGC. */
    private static final String FULL = "MarkSweepCompact";
    private static final List kept = new ArrayList();
    private static int wanted = FIRST;
    private static int drawn;

    /** One object: 24 bytes with two pointers, or 32. */
    private static final class Link {
        Link one;
        Link other;
    }

    private LiveSet() {
    }

    /**
     * One step: keeps one array of objects more or, where there are twice as many as at the last collection, has the heap
     * collected. A step in which one full collection has taken {@code stopMs} is the last one, be it one for want of room.
     *
     * <p>Returns when the step began and ended, as System.nanoTime() tells, and whether it was the last one: it took so long, or three
     * quarters of the heap are used.
     */
    public static long[] grow(long stopMs) {
        long beforeMs = fullMs();
        long beganNs = System.nanoTime();
        boolean collects = kept.size() >= wanted || isFull();
        if (collects) {
            System.gc();
            wanted *= 2;
        } else {
            add();
        }
        long endedNs = System.nanoTime();
        boolean isLast = fullMs() - beforeMs >= stopMs || collects && isFull();
        return new long[] {beganNs, endedNs, isLast ? 1 : 0};
    }

    /** Keeps nothing any more. */
    public static void clear() {
        kept.clear();
        wanted = FIRST;
    }

    private static boolean isFull() {
        Runtime heap = Runtime.getRuntime();
        return heap.totalMemory() - heap.freeMemory() >= heap.maxMemory() / 4 * 3;
    }

    /** For how long full collections have stopped this process so far. */
    private static long fullMs() {
        List collectors = ManagementFactory.getGarbageCollectorMXBeans();
        long ms = 0;
        for (int i = 0; i < collectors.size(); i++) {
            GarbageCollectorMXBean collector = (GarbageCollectorMXBean) collectors.get(i);
            ms += collector.getName().equals(FULL) ? collector.getCollectionTime() : 0;
        }
        return ms;
    }

    /** One more array, whose objects point at any of all that are kept. */
    private static void add() {
        Link[] links = new Link[LINKS];
        for (int i = 0; i < LINKS; i++) {
            links[i] = new Link();
        }
        kept.add(links);
        for (int i = 0; i < LINKS; i++) {
            links[i].one = any();
            links[i].other = any();
        }
    }

    /** By a congruential generator, whose upper bits are random enough to leave no two neighbours in one cache line. */
    private static Link any() {
        drawn = drawn * 1664525 + 1013904223;
        Link[] links = (Link[]) kept.get((drawn >>> 24) % kept.size());
        drawn = drawn * 1664525 + 1013904223;
        return links[drawn >>> 12 & LINKS - 1];
    }
}
