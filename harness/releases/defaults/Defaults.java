import java.lang.reflect.Field;
import java.lang.reflect.Method;

/** Prints what configuration classes hold by themselves and what constants others have: class, name, kind and value a line. */
public final class Defaults {
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
        System.out.flush();
        // A producer's threads would keep this process.
        Runtime.getRuntime().halt(0);
    }

    private static void printConstants(Class codes) throws Exception {
        Field[] fields = codes.getFields();
        for (int i = 0; i < fields.length; i++) {
            if (fields[i].getType() == int.class) {
                System.out.println(codes.getName() + "\t" + fields[i].getName() + "\tint\t" + fields[i].getInt(null));
            }
        }
    }

    private static void print(Class bean, Object one) {
        Method[] methods = bean.getMethods();
        for (int i = 0; i < methods.length; i++) {
            String name = methods[i].getName();
            Class[] kinds = methods[i].getParameterTypes();
            if (name.matches("set\\w+") && kinds.length == 1 && (kinds[0].isPrimitive() || kinds[0] == String.class)) {
                Object value = value(bean, one, name.substring(3));
                System.out.println(bean.getName() + "\t" + name.substring(3, 4).toLowerCase() + name.substring(4)
                    + "\t" + kinds[0].getSimpleName() + "\t" + String.valueOf(value));
            }
        }
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
        return "?";
    }
}
