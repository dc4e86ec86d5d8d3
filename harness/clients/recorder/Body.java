package mqlab;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.zip.CRC32;

/**
 * A message body that proves itself: run, sequence number and intended time of the send, padding, and a checksum of it
 * all in the last eight characters. ASCII without NUL, which the native client would cut.
 *
 * <p>{@code harness/clients/python/body.py} writes and reads the same.
 */
public final class Body {
    private static final int CHECKSUM_CHARS = 8;
    /** {@code compressMsgBodyOverHowmuch} of org.apache.rocketmq.client.producer.DefaultMQProducer. */
    private static final int COMPRESSED_OVER_BYTES = 4096;
    private static final byte[] HEX = Record.ascii("0123456789abcdef");

    private Body() {
    }

    /** A body of {@code bytes} bytes, or as many more as its own content needs. */
    public static byte[] make(byte[] run, long seq, long intendedNs, int bytes) {
        byte[] head = (seq + " " + intendedNs + " ").getBytes(StandardCharsets.US_ASCII);
        int start = run.length + 1;
        byte[] body = new byte[Math.max(bytes, start + head.length + CHECKSUM_CHARS)];
        System.arraycopy(run, 0, body, 0, run.length);
        body[run.length] = ' ';
        System.arraycopy(head, 0, body, start, head.length);
        int end = body.length - CHECKSUM_CHARS;
        pad(body, start + head.length, end, seq);
        putChecksum(body, end);
        return body;
    }

    /**
     * Dots, and in bodies over 4,096 bytes letters by chance: a client compresses those, dots to next to nothing, while what
     * the broker is to store is what was asked for. Zip makes 94 letters by chance five sixths as long.
     */
    private static void pad(byte[] body, int start, int end, long seq) {
        if (body.length <= COMPRESSED_OVER_BYTES) {
            Arrays.fill(body, start, end, (byte) '.');
            return;
        }
        SplittableRandom random = new SplittableRandom(seq);
        for (int i = start; i < end; i++) {
            body[i] = (byte) random.nextInt('!', '~' + 1);
        }
    }

    /**
     * {seq, intended time in nanoseconds}, or null when the body is not one of this run or was changed on its way. An
     * empty {@code run} stands for any.
     */
    public static long[] read(byte[] body, byte[] run) {
        if (body == null || body.length < CHECKSUM_CHARS + 6) {
            return null;
        }
        int end = body.length - CHECKSUM_CHARS;
        byte[] copy = Arrays.copyOf(body, body.length);
        putChecksum(copy, end);
        if (!Arrays.equals(copy, body)) {
            return null;
        }
        String text = new String(body, 0, end, StandardCharsets.US_ASCII);
        int first = text.indexOf(' ');
        int second = text.indexOf(' ', first + 1);
        int third = text.indexOf(' ', second + 1);
        if (first < 0 || second < 0 || third < 0 || run.length > 0 && !text.startsWith(new String(run) + " ")) {
            return null;
        }
        return new long[] {
            Long.parseLong(text.substring(first + 1, second)), Long.parseLong(text.substring(second + 1, third))
        };
    }

    /** Whether the body begins as those of this run do, which a changed one does, too. An empty run stands for any. */
    public static boolean names(byte[] body, byte[] run) {
        return run.length == 0 || body != null && new String(body, StandardCharsets.US_ASCII).startsWith(new String(run) + " ");
    }

    private static void putChecksum(byte[] body, int end) {
        CRC32 crc = new CRC32();
        crc.update(body, 0, end);
        long value = crc.getValue();
        for (int i = 0; i < CHECKSUM_CHARS; i++) {
            body[end + i] = HEX[(int) (value >> 28 - 4 * i) & 15];
        }
    }
}
