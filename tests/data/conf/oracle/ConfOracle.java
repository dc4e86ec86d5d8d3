import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.URLEncoder;
import java.util.Iterator;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;

/**
 * What a release's own MixAll.properties2Object makes of files, whose paths come on the standard input: path, key, whether a class
 * asked for the key, and what it had before and has afterwards, a line each. The classes are arguments.
 */
public final class ConfOracle {
    private ConfOracle() {
    }

    /** Properties that know what they were asked for. */
    private static final class Asked extends Properties {
        private final Set asked = new TreeSet();

        public String getProperty(String key) {
            asked.add(key);
            return super.getProperty(key);
        }
    }

    public static void main(String[] names) throws Exception {
        Method fills = Class.forName("org.apache.rocketmq.common.MixAll")
            .getMethod("properties2Object", new Class[] {Properties.class, Object.class});
        BufferedReader paths = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String path = paths.readLine(); path != null; path = paths.readLine()) {
            Asked given = new Asked();
            InputStream file = new BufferedInputStream(new FileInputStream(path));
            given.load(file);
            file.close();
            Set left = new TreeSet(given.stringPropertyNames());
            for (int i = 0; i < names.length; i++) {
                Class bean = null;
                try {
                    bean = Class.forName(names[i]);
                } catch (ClassNotFoundException absent) {
                    continue;
                }
                Object fresh = bean.getDeclaredConstructor(new Class[0]).newInstance(new Object[0]);
                Object filled = bean.getDeclaredConstructor(new Class[0]).newInstance(new Object[0]);
                given.asked.clear();
                fills.invoke(null, new Object[] {given, filled});
                for (Iterator keys = given.asked.iterator(); keys.hasNext();) {
                    String key = (String) keys.next();
                    if (left.remove(key)) {
                        print(path, key, "asked", value(bean, fresh, key), value(bean, filled, key));
                    }
                }
            }
            for (Iterator keys = left.iterator(); keys.hasNext();) {
                print(path, (String) keys.next(), "not asked", "", "");
            }
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static void print(String path, String key, String fate, String before, String after) throws Exception {
        System.out.println(path + "\t" + URLEncoder.encode(key, "UTF-8") + "\t" + fate + "\t" + URLEncoder.encode(before, "UTF-8")
            + "\t" + URLEncoder.encode(after, "UTF-8"));
    }

    /** What the setter has left: the field, since some getters mend what they give. */
    private static String value(Class bean, Object one, String key) throws Exception {
        for (Class of = bean; of != null; of = of.getSuperclass()) {
            try {
                Field field = of.getDeclaredField(key);
                field.setAccessible(true);
                return String.valueOf(field.get(one));
            } catch (NoSuchFieldException absent) {
                continue;
            }
        }
        String name = key.substring(0, 1).toUpperCase() + key.substring(1);
        String[] getters = new String[] {"get" + name, "is" + name, "get" + key, "is" + key};
        for (int i = 0; i < getters.length; i++) {
            try {
                return String.valueOf(bean.getMethod(getters[i], new Class[0]).invoke(one, new Object[0]));
            } catch (NoSuchMethodException absent) {
                continue;
            }
        }
        return "?";
    }
}
