package mqlab;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;

/**
 * The history of one client process: JSON lines, appended through a memory-mapped window of the file.
 *
 * <p>What was copied into the window belongs to the kernel, so that a kill -9 loses nothing that was recorded; only the
 * one record that is being copied at that moment may be damaged. A system call for each record would be as safe, and
 * cost several times more than everything else that recording does. The window is filled with newlines beforehand by
 * ordinary writes: these reserve the disk's room, so that a full disk is an error instead of a signal, and what a kill
 * leaves behind the last record is empty lines, which every reader skips.
 *
 * <p>The source keeps to what Janino compiles: no lambdas, no diamonds, explicit casts.
 */
public final class History implements Runnable {
    /** A window is as large as what is there already, within these bounds. */
    private static final int WINDOW_BYTES_MIN = 1 << 12;
    private static final int WINDOW_BYTES_FIRST = 1 << 16;
    private static final int WINDOW_BYTES_MAX = 1 << 20;
    private static final int NUMBER_BYTES_MAX = 27;
    private static final int ANCHOR_TRIES_MAX = 8;
    private static final long ANCHOR_TIGHT_NS = 50000L;
    private static final byte[] NUMBER = Record.field("n");
    private static final byte[] END = Record.ascii("}\n");
    private static final byte[] PADDING = new byte[WINDOW_BYTES_FIRST];
    private static final ThreadLocal RECORDS = new ThreadLocal();

    static {
        java.util.Arrays.fill(PADDING, (byte) '\n');
    }

    private final String process;
    private final RandomAccessFile file;
    private final Thread preparer;
    private MappedByteBuffer window;
    private MappedByteBuffer next;
    private long preparedBytes;
    private long bytes;
    private long records;
    private int waiting;
    private boolean closed;
    private boolean ended;
    private String unprepared = "";
    private volatile String failure = "";

    /** An empty path records nothing, which is what the cost of recording is measured against. */
    public History(String path, String process) throws IOException {
        this.process = process;
        if (path.isEmpty()) {
            this.file = null;
            this.preparer = null;
            return;
        }
        this.file = new RandomAccessFile(path, "rw");
        this.bytes = file.length();
        this.preparedBytes = bytes;
        this.window = prepare();
        this.preparer = new Thread(this, "mqlab-history");
        preparer.setDaemon(true);
        preparer.start();
    }

    public boolean isOn() {
        return file != null;
    }

    /** The start of every record of a type. */
    public byte[] prefix(String type) {
        Record record = new Record();
        record.raw(Record.ascii("{\"type\":\"" + type + "\"")).text("process", process);
        return java.util.Arrays.copyOf(record.bytes(), record.length());
    }

    /** Starts a record in this thread's buffer; the caller appends its fields and hands it to {@link #write}. */
    public static Record begin(byte[] prefix) {
        Record record = (Record) RECORDS.get();
        if (record == null) {
            record = new Record();
            RECORDS.set(record);
        }
        record.clear();
        return record.raw(prefix);
    }

    /** Appends a record. One that finds no room on the disk is dropped as a whole, and {@link #failure} says why. */
    public void write(Record record) {
        put(record, false);
    }

    private void put(Record record, boolean isLast) {
        if (file == null) {
            return;
        }
        boolean interrupted = false;
        synchronized (this) {
            if (closed && !isLast) {
                // What goes on after a trial's end is nobody's; consumers do until their process ends.
                return;
            }
            while (!hasRoom(record.length() + NUMBER_BYTES_MAX)) {
                if (next != null || !unprepared.isEmpty()) {
                    refuse();
                    return;
                }
                waiting++;
                try {
                    wait();
                } catch (InterruptedException e) {
                    interrupted = true;
                } finally {
                    waiting--;
                    if (closed && waiting == 0) {
                        notifyAll();
                    }
                }
            }
            records++;
            record.number(NUMBER, records).raw(END);
            append(record.bytes(), record.length());
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean hasRoom(int count) {
        return failure.isEmpty() && window.remaining() + (next == null ? 0 : next.remaining()) >= count;
    }

    private void refuse() {
        if (failure.isEmpty()) {
            failure = next != null ? "a record is too long" : unprepared;
        }
    }

    private void append(byte[] text, int count) {
        int first = Math.min(window.remaining(), count);
        window.put(text, 0, first);
        if (first < count) {
            release(window);
            window = next;
            next = null;
            notifyAll();
            window.put(text, first, count - first);
        }
        bytes += count;
    }

    /** Keeps one window ahead of the one in use, so that no sender waits for the disk. */
    public void run() {
        try {
            while (true) {
                synchronized (this) {
                    while (next != null && !ended) {
                        wait();
                    }
                    if (ended) {
                        return;
                    }
                }
                MappedByteBuffer prepared = prepare();
                synchronized (this) {
                    next = prepared;
                    notifyAll();
                }
            }
        } catch (Exception e) {
            synchronized (this) {
                unprepared = String.valueOf(e.getMessage());
                notifyAll();
            }
        }
    }

    private MappedByteBuffer prepare() throws IOException {
        int size = (int) Math.min(Math.max(Long.highestOneBit(preparedBytes | 1), WINDOW_BYTES_FIRST), WINDOW_BYTES_MAX);
        while (true) {
            try {
                return prepare(size);
            } catch (IOException e) {
                // A disk that is nearly full may have room for a smaller one.
                if (size == WINDOW_BYTES_MIN) {
                    throw e;
                }
                size /= 2;
            }
        }
    }

    private MappedByteBuffer prepare(int size) throws IOException {
        file.seek(preparedBytes);
        try {
            for (int written = 0; written < size; written += PADDING.length) {
                file.write(PADDING, 0, Math.min(size - written, PADDING.length));
            }
        } catch (IOException e) {
            file.setLength(preparedBytes);
            throw e;
        }
        MappedByteBuffer mapped = file.getChannel().map(FileChannel.MapMode.READ_WRITE, preparedBytes, size);
        preparedBytes += size;
        return mapped;
    }

    /** What kept a record from being written, empty when nothing did. */
    public String failure() {
        return failure;
    }

    public synchronized long records() {
        return records;
    }

    /** The wall clock between two monotonic reads, the tightest of a few: a thread may be descheduled between them. */
    public void anchor() {
        long mono = 0L;
        long wallMicros = 0L;
        long width = Long.MAX_VALUE;
        for (int i = 0; i < ANCHOR_TRIES_MAX && width > ANCHOR_TIGHT_NS; i++) {
            long before = System.nanoTime();
            java.time.Instant wall = java.time.Instant.now();
            long after = System.nanoTime();
            if (after - before < width) {
                width = after - before;
                mono = before + width / 2;
                wallMicros = wall.getEpochSecond() * 1000000L + wall.getNano() / 1000;
            }
        }
        write(begin(prefix("anchor")).number("mono_ns", mono).number("wall_us", wallMicros));
    }

    public void instance(String instance, String group, String event, String clientId) {
        write(begin(prefix("instance")).text("instance", instance).text("group", group).text("event", event)
            .text("client_id", clientId).number("at_ns", System.nanoTime()));
    }

    /**
     * Ends the file with its end mark, which says that all of it is there. A record that waits for room came before the end and
     * is written; a later one is dropped. A file that lacks a record for want of room gets no end mark.
     */
    public void close() throws IOException, InterruptedException {
        synchronized (this) {
            if (closed || file == null) {
                return;
            }
            closed = true;
            while (waiting > 0) {
                wait();
            }
            if (failure.isEmpty()) {
                put(begin(prefix("end")).number("records", records), true);
            }
            ended = true;
            notifyAll();
        }
        preparer.join();
        synchronized (this) {
            release(window);
            if (next != null) {
                release(next);
            }
            file.setLength(bytes);
            file.close();
        }
    }

    /** Gives the mapping back at once; the collector would do so late, and address space would pile up until then. */
    private static void release(ByteBuffer buffer) {
        try {
            Class unsafeClass = Class.forName("sun.misc.Unsafe");
            Field instance = unsafeClass.getDeclaredField("theUnsafe");
            instance.setAccessible(true);
            Method clean = unsafeClass.getMethod("invokeCleaner", new Class[] {ByteBuffer.class});
            clean.invoke(instance.get(null), new Object[] {buffer});
        } catch (Exception e) {
            // A runtime that does not offer it leaves the mapping to its collector.
            return;
        }
    }
}
