package mqlab;

import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

/**
 * A message body that proves itself: sequence number and intended time of the send, padding, and a checksum of it all
 * in the last eight characters. ASCII without NUL, which the native client would cut.
 */
public final class Body {
    private static final int CHECKSUM_CHARS = 8;

    private Body() {
    }

    public static byte[] make(long seq, long intendedNs, int bytes) {
        StringBuilder text = new StringBuilder(bytes + 48).append(seq).append(' ').append(intendedNs).append(' ');
        while (text.length() < bytes - CHECKSUM_CHARS) {
            text.append('.');
        }
        byte[] payload = text.toString().getBytes(StandardCharsets.US_ASCII);
        text.append(checksum(payload, payload.length));
        return text.toString().getBytes(StandardCharsets.US_ASCII);
    }

    /** {seq, intended time in nanoseconds}, or null when the body is not one of ours or was changed on its way. */
    public static long[] read(byte[] body) {
        if (body == null || body.length < CHECKSUM_CHARS + 4) {
            return null;
        }
        String text = new String(body, StandardCharsets.US_ASCII);
        int end = text.length() - CHECKSUM_CHARS;
        int first = text.indexOf(' ');
        int second = text.indexOf(' ', first + 1);
        if (first < 0 || second < 0 || !text.substring(end).equals(checksum(body, end))) {
            return null;
        }
        return new long[] {Long.parseLong(text.substring(0, first)), Long.parseLong(text.substring(first + 1, second))};
    }

    private static String checksum(byte[] bytes, int length) {
        CRC32 crc = new CRC32();
        crc.update(bytes, 0, length);
        String hex = Long.toHexString(crc.getValue());
        return "00000000".substring(hex.length()) + hex;
    }
}
