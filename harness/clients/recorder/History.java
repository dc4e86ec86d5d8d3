package mqlab;

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * The history of one client process: JSON lines, each written by one append-only write, so that a kill -9 leaves only
 * whole lines (the last one excepted where the disk is full).
 *
 * <p>The source keeps to what Janino compiles: no lambdas, no diamonds, explicit casts.
 */
public final class History {
    private final String process;
    private final FileOutputStream out;
    private long records;
    private volatile String failure = "";

    public History(String path, String process) throws IOException {
        this.process = process;
        this.out = new FileOutputStream(path, true);
    }

    /** Starts a record; the caller appends its fields and hands it to {@link #write}. */
    public StringBuilder begin(String type) {
        return new StringBuilder(320).append("{\"type\":\"").append(type).append("\",\"process\":\"").append(process)
            .append('"');
    }

    public synchronized void write(StringBuilder record) {
        if (!failure.isEmpty()) {
            // A record that was cut is the file's last line; anything behind it would be glued to it.
            return;
        }
        records++;
        record.append(",\"n\":").append(records).append("}\n");
        try {
            out.write(record.toString().getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            failure = String.valueOf(e.getMessage());
        }
    }

    /** The first thing that kept a record from being written, empty when nothing did. */
    public String failure() {
        return failure;
    }

    public synchronized long records() {
        return records;
    }

    public void anchor() {
        long before = System.nanoTime();
        java.time.Instant wall = java.time.Instant.now();
        long after = System.nanoTime();
        long wallMicros = wall.getEpochSecond() * 1000000L + wall.getNano() / 1000;
        write(number(number(begin("anchor"), "mono_ns", before + (after - before) / 2), "wall_us", wallMicros));
    }

    public void instance(String instance, String group, String event, String clientId) {
        StringBuilder record = begin("instance");
        text(record, "instance", instance);
        text(record, "group", group);
        text(record, "event", event);
        text(record, "client_id", clientId);
        write(number(record, "at_ns", System.nanoTime()));
    }

    public synchronized void close() throws IOException {
        out.close();
    }

    public static StringBuilder number(StringBuilder record, String name, long value) {
        return record.append(",\"").append(name).append("\":").append(value);
    }

    public static StringBuilder text(StringBuilder record, String name, String value) {
        record.append(",\"").append(name).append("\":");
        if (value == null) {
            return record.append("null");
        }
        record.append('"');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c == '"' || c == '\\') {
                record.append('\\').append(c);
            } else if (c < 0x20) {
                String hex = Integer.toHexString(c);
                record.append("\\u").append("0000", 0, 4 - hex.length()).append(hex);
            } else {
                record.append(c);
            }
        }
        return record.append('"');
    }
}
