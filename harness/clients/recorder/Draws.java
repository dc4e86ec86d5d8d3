package mqlab;

/**
 * Keys and body sizes, drawn by the number of the operation: the same operation has the same key and size in every
 * repetition and in whichever thread asks.
 */
final class Draws {
    private static final long SIZE_SALT = 0x5DEECE66DL;

    private final Settings settings;
    private final String[] names;
    private final double[] zipf;
    private final double[] sizes;

    Draws(Settings settings) {
        this.settings = settings;
        names = new String[settings.keys];
        for (int i = 0; i < names.length; i++) {
            names[i] = settings.keyPrefix + i;
        }
        zipf = new double[settings.keyDistribution.equals("zipf") ? settings.keys : 0];
        double sum = 0;
        for (int i = 0; i < zipf.length; i++) {
            sum += Math.pow(i + 1, -settings.keySkew);
            zipf[i] = sum;
        }
        sizes = java.util.Arrays.copyOf(settings.bodyShares, settings.bodyShares.length);
        for (int i = 1; i < sizes.length; i++) {
            sizes[i] += sizes[i - 1];
        }
    }

    /** The index of the operation's key; 0 when there are no keys. */
    int key(long operation) {
        if (settings.keys <= 1) {
            return 0;
        }
        if (settings.keyDistribution.equals("cycle")) {
            return (int) (operation % settings.keys);
        }
        double drawn = uniform(settings.seed, operation);
        if (zipf.length > 0) {
            return first(zipf, drawn * zipf[zipf.length - 1]);
        }
        if (settings.keyDistribution.equals("hot")) {
            if (drawn < settings.keySkew) {
                return 0;
            }
            drawn = (drawn - settings.keySkew) / (1 - settings.keySkew);
            return 1 + (int) (drawn * (settings.keys - 1));
        }
        return (int) (drawn * settings.keys);
    }

    /** The key's name, or the empty text when there are none. */
    String name(int key) {
        return names.length == 0 ? "" : names[key];
    }

    int bodyBytes(long operation) {
        if (sizes.length == 1) {
            return settings.bodyBytes[0];
        }
        return settings.bodyBytes[first(sizes, uniform(settings.seed ^ SIZE_SALT, operation) * sizes[sizes.length - 1])];
    }

    /** The first index whose cumulated share lies above what was drawn. */
    private static int first(double[] cumulated, double drawn) {
        int at = java.util.Arrays.binarySearch(cumulated, drawn);
        return Math.min(at < 0 ? -at - 1 : at + 1, cumulated.length - 1);
    }

    /** Sebastiano Vigna's splitmix64 as a hash, to a number in [0, 1). */
    private static double uniform(long seed, long operation) {
        long z = seed * 0xD1342543DE82EF95L + (operation + 1) * 0x9E3779B97F4A7C15L;
        z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
        z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
        return ((z ^ z >>> 31) >>> 11) * (1.0 / (1L << 53));
    }
}
