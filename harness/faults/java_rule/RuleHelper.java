package mqlab;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jboss.byteman.rule.Rule;
import org.jboss.byteman.rule.helper.Helper;

/**
 * What rules of an incident's own file ask: whether they are on. Each time that one takes effect is counted.
 *
 * <p>StallHelper passes "RuleHelper on NAME\n" and "RuleHelper off NAME\n" on to ask(); the answer is how often the rules of
 * that name have taken effect so far. With Byteman's own helper below it, a rule's action has delay(), traceln() and so on.
 */
public class RuleHelper extends Helper {
    private static final ConcurrentHashMap ON = new ConcurrentHashMap();
    private static final ConcurrentHashMap TAKEN = new ConcurrentHashMap();

    protected RuleHelper(Rule rule) {
        super(rule);
    }

    /** Switch on or off, and say how often it took effect. */
    public static String ask(String line) {
        String[] words = line.split(" ");
        if (words[0].equals("on")) {
            ON.put(words[1], words[1]);
        } else {
            ON.remove(words[1]);
        }
        return count(words[1]).get() + "\n";
    }

    private static AtomicLong count(String name) {
        AtomicLong made = new AtomicLong();
        AtomicLong there = (AtomicLong) TAKEN.putIfAbsent(name, made);
        return there == null ? made : there;
    }

    /** First condition of a rule. */
    public boolean isOn(String name) {
        return ON.containsKey(name);
    }

    /** Last condition of a rule, once all others are true. */
    public boolean takes(String name) {
        count(name).incrementAndGet();
        return true;
    }
}
