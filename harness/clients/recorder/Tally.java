package mqlab;

import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;

/**
 * What the sends of a load came to, counted where they are recorded, for Locust's statistics. Response times are
 * rounded as Locust rounds them: to two digits above 100 ms.
 */
public final class Tally {
    private static final int CELLS = 100 + 90 + 90 + 91;
    private static final int LATE_CELLS = 16 * 40;

    private long requests;
    private long failures;
    private long bytes;
    private long sumMs;
    private long minMs = Long.MAX_VALUE;
    private long maxMs;
    private final long[] cells = new long[CELLS];
    private final Map errors = new TreeMap();
    private final long[] late = new long[LATE_CELLS];
    private long lateCount;
    private long lateMaxUs;

    /** {@code error} is empty for a send that succeeded, and for a one-way send, which nobody answers. */
    synchronized void ended(long latencyNs, long lateNs, int bodyBytes, String error) {
        requests++;
        bytes += bodyBytes;
        long ms = (latencyNs + 500000L) / 1000000L;
        sumMs += ms;
        minMs = Math.min(minMs, ms);
        maxMs = Math.max(maxMs, ms);
        cells[cell(ms)]++;
        if (!error.isEmpty()) {
            failures++;
            Long before = (Long) errors.get(error);
            errors.put(error, Long.valueOf(before == null ? 1 : before.longValue() + 1));
        }
        long lateUs = Math.max(0, lateNs / 1000);
        late[lateCell(lateUs)]++;
        lateCount++;
        lateMaxUs = Math.max(lateMaxUs, lateUs);
    }

    private static int cell(long ms) {
        if (ms < 100) {
            return (int) ms;
        }
        if (ms < 995) {
            return 100 + (int) ((ms + 5) / 10) - 10;
        }
        if (ms < 9950) {
            return 190 + (int) ((ms + 50) / 100) - 10;
        }
        return 280 + (int) Math.min((ms + 500) / 1000 - 10, 90);
    }

    private static long msOf(int cell) {
        if (cell < 100) {
            return cell;
        }
        if (cell < 190) {
            return (cell - 90) * 10L;
        }
        return cell < 280 ? (cell - 180) * 100L : (cell - 270) * 1000L;
    }

    /** Sixteen cells for each doubling. */
    private static int lateCell(long us) {
        if (us < 16) {
            return (int) us;
        }
        int top = 63 - Long.numberOfLeadingZeros(us);
        return Math.min(16 * (top - 3) + (int) (us >> top - 4 & 15), LATE_CELLS - 1);
    }

    private static long lateUs(int cell) {
        return cell < 16 ? cell : (16L + cell % 16) << cell / 16 - 1;
    }

    /** The lateness of starts that a share of all of them did not exceed, in microseconds. */
    private long lateQuantile(double share) {
        long wanted = (long) Math.ceil(share * lateCount);
        long seen = 0;
        for (int i = 0; i < LATE_CELLS; i++) {
            seen += late[i];
            if (seen >= wanted && seen > 0) {
                return lateUs(i);
            }
        }
        return 0;
    }

    /** What has ended since this was asked last, as JSON; lateness is that of the whole load. */
    public synchronized String take() {
        StringBuilder text = new StringBuilder("{\"requests\":").append(requests)
            .append(",\"failures\":").append(failures).append(",\"bytes\":").append(bytes)
            .append(",\"sum_ms\":").append(sumMs)
            .append(",\"min_ms\":").append(requests == 0 ? 0 : minMs).append(",\"max_ms\":").append(maxMs);
        text.append(",\"response_ms\":{");
        String comma = "";
        for (int i = 0; i < CELLS; i++) {
            if (cells[i] > 0) {
                text.append(comma).append('"').append(msOf(i)).append("\":").append(cells[i]);
                comma = ",";
                cells[i] = 0;
            }
        }
        text.append("},\"errors\":{");
        comma = "";
        for (Iterator all = errors.entrySet().iterator(); all.hasNext();) {
            Map.Entry error = (Map.Entry) all.next();
            Record name = new Record();
            name.text(new byte[0], (String) error.getKey());
            text.append(comma).append(new String(name.bytes(), 0, name.length(), java.nio.charset.StandardCharsets.UTF_8))
                .append(':').append(error.getValue());
            comma = ",";
        }
        text.append("},\"late_us\":{\"p50\":").append(lateQuantile(0.5)).append(",\"p99\":").append(lateQuantile(0.99))
            .append(",\"p999\":").append(lateQuantile(0.999)).append(",\"max\":").append(lateMaxUs).append("}}");
        requests = 0;
        failures = 0;
        bytes = 0;
        sumMs = 0;
        minMs = Long.MAX_VALUE;
        maxMs = 0;
        errors.clear();
        return text.toString();
    }
}
