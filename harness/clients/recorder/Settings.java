package mqlab;

/** What a load sends and how. Public fields, since it is filled by name from {@code harness/clients/java.py}. */
public final class Settings {
    public String instance;
    public String client;
    public String topic;
    /** sync, async, oneway, batch or transaction. */
    public String mode = "async";
    /** normal, selector, again, hash or fixed: see {@link Sends}. */
    public String route = "normal";
    public String run = "-";
    public int threads = 1;
    /** Number of keys; 0 sends without one. */
    public int keys = 64;
    public String keyPrefix = "k";
    /** Whether a message's key is its tag, too. */
    public boolean tagged;
    /** Whether the index of a message's key is its delay level, too. */
    public boolean delayed;
    /** cycle, uniform, zipf or hot. */
    public String keyDistribution = "cycle";
    /** The exponent of zipf, or the share of the hot key. */
    public double keySkew;
    public int[] bodyBytes = new int[] {128};
    /** How often each size comes, in the order of {@link #bodyBytes}; they add up to 1. */
    public double[] bodyShares = new double[] {1.0};
    public int batch = 1;
    public long timeoutMs = 3000;
    public long seed = 1;
    /** The sequence number of operation i is {@code first + i * step}, so that several processes share one sequence. */
    public long first;
    public long step = 1;
}
