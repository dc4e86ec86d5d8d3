package mqlab;

/**
 * What the rules of commit_watch.btm tell: when the transient store pool commits to the page cache.
 *
 * <p>StallHelper passes "CommitHelper begin MILLISECONDS\n" and "CommitHelper end\n" on to ask(). The answer to the second is
 * how many commits came since the first one, which is not counted, and how many of them so long after the one before, or
 * longer. Not final, since Byteman extends its helpers.
 */
public class CommitHelper {
    private static volatile boolean watches;
    private static long apartNs;
    private static long lastNs;
    private static long commits;
    private static long apart;

    /** Begin or end a watch; at once. */
    public static synchronized String ask(String line) {
        String[] words = line.split(" ");
        watches = words[0].equals("begin");
        if (watches) {
            apartNs = (long) (Double.parseDouble(words[1]) * 1e6);
            lastNs = 0;
            commits = 0;
            apart = 0;
        }
        return commits + " " + apart + "\n";
    }

    /** Condition of the rules. */
    public boolean watching() {
        return watches;
    }

    /** Action of the rules. */
    public void committed() {
        synchronized (CommitHelper.class) {
            long nowNs = System.nanoTime();
            if (lastNs != 0) {
                commits++;
                apart += nowNs - lastNs >= apartNs ? 1 : 0;
            }
            lastNs = nowNs;
        }
    }
}
