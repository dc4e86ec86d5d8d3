package mqlab;

import java.nio.charset.StandardCharsets;

/**
 * One record under construction: JSON text as bytes, in a buffer that its thread uses again for the next one.
 *
 * <p>Nothing is allocated and no text is encoded twice, which is what keeps recording below a microsecond a message.
 */
public final class Record {
    private static final byte[] TWO_DIGITS = new byte[200];
    private static final byte[] NULL = ascii("null");

    static {
        for (int i = 0; i < 100; i++) {
            TWO_DIGITS[2 * i] = (byte) ('0' + i / 10);
            TWO_DIGITS[2 * i + 1] = (byte) ('0' + i % 10);
        }
    }

    private final byte[] digits = new byte[20];
    private byte[] bytes = new byte[1024];
    private int length;

    /** The start of a field, {@code ,"name":}, to be made once and used for every record. */
    public static byte[] field(String name) {
        return ascii(",\"" + name + "\":");
    }

    static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    void clear() {
        length = 0;
    }

    byte[] bytes() {
        return bytes;
    }

    int length() {
        return length;
    }

    public Record raw(byte[] text) {
        makeRoom(text.length);
        System.arraycopy(text, 0, bytes, length, text.length);
        length += text.length;
        return this;
    }

    public Record number(byte[] field, long value) {
        return raw(field).number(value);
    }

    public Record number(String name, long value) {
        return number(field(name), value);
    }

    Record number(long value) {
        if (value == Long.MIN_VALUE) {
            return raw(ascii(Long.toString(value)));
        }
        makeRoom(20);
        long left = value;
        if (left < 0) {
            bytes[length++] = '-';
            left = -left;
        }
        int at = 20;
        while (left >= 100) {
            int pair = 2 * (int) (left % 100);
            left /= 100;
            digits[--at] = TWO_DIGITS[pair + 1];
            digits[--at] = TWO_DIGITS[pair];
        }
        if (left >= 10) {
            digits[--at] = TWO_DIGITS[2 * (int) left + 1];
            digits[--at] = TWO_DIGITS[2 * (int) left];
        } else {
            digits[--at] = (byte) ('0' + left);
        }
        System.arraycopy(digits, at, bytes, length, 20 - at);
        length += 20 - at;
        return this;
    }

    public Record text(String name, String value) {
        return text(field(name), value);
    }

    public Record text(byte[] field, String value) {
        raw(field);
        if (value == null) {
            return raw(NULL);
        }
        int count = value.length();
        makeRoom(count + 2);
        int start = length;
        bytes[length++] = '"';
        for (int i = 0; i < count; i++) {
            char c = value.charAt(i);
            if (c < 0x20 || c > 0x7e || c == '"' || c == '\\') {
                length = start;
                return escaped(value);
            }
            bytes[length++] = (byte) c;
        }
        bytes[length++] = '"';
        return this;
    }

    /** A text of letters and digits, such as a message id, which needs no look at each of its characters. */
    Record plain(byte[] field, String value) {
        raw(field);
        if (value == null) {
            return raw(NULL);
        }
        int count = value.length();
        makeRoom(count + 2);
        bytes[length++] = '"';
        value.getBytes(0, count, bytes, length);
        length += count;
        bytes[length++] = '"';
        return this;
    }

    private Record escaped(String value) {
        StringBuilder text = new StringBuilder(value.length() + 16).append('"');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c == '"' || c == '\\') {
                text.append('\\').append(c);
            } else if (c < 0x20) {
                String hex = Integer.toHexString(c);
                text.append("\\u").append("0000", 0, 4 - hex.length()).append(hex);
            } else {
                text.append(c);
            }
        }
        return raw(text.append('"').toString().getBytes(StandardCharsets.UTF_8));
    }

    private void makeRoom(int count) {
        if (length + count > bytes.length) {
            bytes = java.util.Arrays.copyOf(bytes, Math.max(2 * bytes.length, length + count));
        }
    }
}
