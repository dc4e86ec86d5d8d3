import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Properties;

/** Prints what configuration classes hold by themselves and what constants others have: class, name, kind, value and words a line. */
public final class Defaults {
    /** What MixAll.properties2Object makes of a text, by the simple names of the types. */
    private static final String KINDS = " int Integer long Long double Double boolean Boolean float Float String ";

    private Defaults() {
    }

    public static void main(String[] names) throws Exception {
        for (int i = 0; i < names.length; i++) {
            Class bean = null;
            try {
                bean = Class.forName(names[i]);
            } catch (ClassNotFoundException absent) {
                continue;
            }
            if (names[i].endsWith("ResponseCode")) {
                printConstants(bean);
            } else {
                print(bean, bean.getDeclaredConstructor(new Class[0]).newInstance(new Object[0]));
            }
        }
        printTrimmed();
        System.out.flush();
        // A producer's threads would keep this process.
        Runtime.getRuntime().halt(0);
    }

    /** Whether RocketMQ's own conversion takes the blanks from the ends of a text. */
    private static void printTrimmed() throws Exception {
        Properties blank = new Properties();
        blank.setProperty("brokerClusterName", "c ");
        Class bean = Class.forName("org.apache.rocketmq.common.BrokerConfig");
        Object one = bean.getDeclaredConstructor(new Class[0]).newInstance(new Object[0]);
        Class.forName("org.apache.rocketmq.common.MixAll").getMethod("properties2Object", new Class[] {Properties.class, Object.class})
            .invoke(null, new Object[] {blank, one});
        System.out.println("MixAll\ttrims\tboolean\t" + "c".equals(value(bean, one, "BrokerClusterName")) + "\t");
    }

    private static void printConstants(Class codes) throws Exception {
        Field[] fields = codes.getFields();
        for (int i = 0; i < fields.length; i++) {
            if (fields[i].getType() == int.class) {
                System.out.println(codes.getName() + "\t" + fields[i].getName() + "\tint\t" + fields[i].getInt(null) + "\t");
            }
        }
    }

    private static void print(Class bean, Object one) throws Exception {
        Method[] methods = bean.getMethods();
        for (int i = 0; i < methods.length; i++) {
            String name = methods[i].getName();
            Class[] kinds = methods[i].getParameterTypes();
            if (name.matches("set\\w+") && kinds.length == 1 && KINDS.indexOf(" " + kinds[0].getSimpleName() + " ") >= 0) {
                Object value = value(bean, one, name.substring(3));
                System.out.println(bean.getName() + "\t" + name.substring(3, 4).toLowerCase() + name.substring(4)
                    + "\t" + kinds[0].getSimpleName() + "\t" + String.valueOf(value) + "\t" + words(bean, name, methods[i]));
            }
        }
    }

    /** Of a setter of an enumeration: the texts that it takes, each with what it comes to. */
    private static String words(Class bean, String name, Method setter) throws Exception {
        Class of = enumeration(bean, name);
        StringBuffer found = new StringBuffer();
        Object[] constants = of == null ? new Object[0] : of.getEnumConstants();
        boolean isText = setter.getParameterTypes()[0] == String.class;
        for (int i = 0; i < constants.length; i++) {
            Object one = bean.getDeclaredConstructor(new Class[0]).newInstance(new Object[0]);
            try {
                setter.invoke(one, new Object[] {isText ? ((Enum) constants[i]).name() : (Object) Integer.valueOf(i)});
            } catch (Exception refused) {
                continue;
            }
            found.append(isText ? ((Enum) constants[i]).name() : String.valueOf(i)).append('=');
            found.append(String.valueOf(value(bean, one, name.substring(3)))).append(' ');
        }
        return found.toString().trim();
    }

    /** What a setter's getter gives, or another setter of that name takes, if it is an enumeration. */
    private static Class enumeration(Class bean, String name) {
        Method[] methods = bean.getMethods();
        for (int i = 0; i < methods.length; i++) {
            Class[] kinds = methods[i].getParameterTypes();
            if (methods[i].getName().equals(name) && kinds.length == 1 && kinds[0].isEnum()) {
                return kinds[0];
            }
            if (methods[i].getName().equals("get" + name.substring(3)) && methods[i].getReturnType().isEnum()) {
                return methods[i].getReturnType();
            }
        }
        return null;
    }

    private static Object value(Class bean, Object one, String name) {
        String[] getters = new String[] {"get" + name, "is" + name};
        for (int i = 0; i < getters.length; i++) {
            try {
                return bean.getMethod(getters[i], new Class[0]).invoke(one, new Object[0]);
            } catch (NoSuchMethodException absent) {
                continue;
            } catch (Exception failed) {
                return "?";
            }
        }
        String field = name.substring(0, 1).toLowerCase() + name.substring(1);
        for (Class of = bean; of != null; of = of.getSuperclass()) {
            try {
                Field found = of.getDeclaredField(field);
                found.setAccessible(true);
                return found.get(one);
            } catch (Exception absent) {
                continue;
            }
        }
        return "?";
    }
}
