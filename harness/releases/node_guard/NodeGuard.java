package mqlab;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandles;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jboss.byteman.objectweb.asm.ClassReader;
import org.jboss.byteman.objectweb.asm.ClassVisitor;
import org.jboss.byteman.objectweb.asm.ClassWriter;
import org.jboss.byteman.objectweb.asm.MethodVisitor;
import org.jboss.byteman.objectweb.asm.Opcodes;

/**
 * The agent of every node: its sockets listen on loopback and connect to the cluster's own nodes alone, and it ends when
 * its lease does.
 *
 * <p>Its argument is a properties file: "peers" (ADDRESS:PORT, by commas), "told" (the file that refusals are written to), "leases"
 * (the folder of the lease files). The lease's name is in the environment. Two classes of Java are redefined once, before
 * main: the one that all of its TCP sockets bind and connect by, and the one that sends datagrams. What fails here ends the JVM.
 */
public final class NodeGuard {
    private static final String BORDER = "sun/nio/ch/MqlabBorder";
    private static final long LOOK_PERIOD_MS = 2000;

    /** Owner and healer have this long to end the node themselves. */
    private static final long GRACE_NS = 8000000000L;

    /** As a process that SIGKILL ended. */
    private static final int EXIT_CODE = 137;

    private static final Pattern UNTIL = Pattern.compile("\"until_mono_ns\": (\\d+)");
    private static final Pattern KEPT = Pattern.compile("\"kept\": true");
    private static final Pattern OWNER = Pattern.compile(
        "\"owner\": \\{\"id\": \"[^\"]*\", \"pid\": (\\d+), \"start_ticks\": (\\d+), \"boot_id\": \"[^\"]*\", "
            + "\"namespace\": \"([^\"]*)\"\\}");

    private NodeGuard() {
    }

    public static void premain(String file, Instrumentation instrumentation) throws Exception {
        Properties settings = new Properties();
        InputStream in = new FileInputStream(file);
        try {
            settings.load(in);
        } finally {
            in.close();
        }
        keepBorder(settings, instrumentation);
        String token = System.getenv("MQLAB_LEASE");
        if (token != null) {
            watch(Paths.get(settings.getProperty("leases"), new String[] {token + ".json"}));
        }
    }

    // --- the border ---

    private static void keepBorder(Properties settings, Instrumentation instrumentation) throws Exception {
        Class net = Class.forName("sun.nio.ch.Net");
        Class datagrams = Class.forName("sun.nio.ch.DatagramChannelImpl");
        Set us = Collections.singleton(NodeGuard.class.getModule());
        Map none = Collections.emptyMap();
        instrumentation.redefineModule(
            net.getModule(), Collections.emptySet(), none, Collections.singletonMap("sun.nio.ch", us),
            Collections.emptySet(), none);
        Class border = MethodHandles.privateLookupIn(net, MethodHandles.lookup()).defineClass(bytesOf(BORDER));
        border.getMethod("keep", new Class[] {String.class, String.class})
            .invoke(null, new Object[] {settings.getProperty("peers"), settings.getProperty("told")});
        Guarded nets = new Guarded(net);
        Guarded sends = new Guarded(datagrams);
        instrumentation.redefineClasses(new ClassDefinition[] {nets.definition(), sends.definition()});
        if (nets.bound == 0 || nets.connected < 2 || sends.sent == 0) {
            throw new IllegalStateException("this Java binds, connects and sends by methods that are not known");
        }
    }

    private static byte[] bytesOf(String name) throws IOException {
        InputStream in = ClassLoader.getSystemResourceAsStream(name + ".class");
        try {
            return in.readAllBytes();
        } finally {
            in.close();
        }
    }

    /** A class whose methods ask the border first. */
    private static final class Guarded extends ClassVisitor {
        private final Class type;
        private final ClassWriter writer;
        int bound;
        int connected;
        int sent;

        Guarded(Class type) {
            super(Opcodes.ASM9);
            this.type = type;
            this.writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
            this.cv = writer;
        }

        ClassDefinition definition() throws IOException {
            new ClassReader(bytesOf(type.getName().replace('.', '/'))).accept(this, 0);
            return new ClassDefinition(type, writer.toByteArray());
        }

        public MethodVisitor visitMethod(int access, String name, String of, String signature, String[] thrown) {
            MethodVisitor to = super.visitMethod(access, name, of, signature, thrown);
            if ((access & (Opcodes.ACC_NATIVE | Opcodes.ACC_ABSTRACT)) != 0) {
                return to;
            }
            boolean isStatic = (access & Opcodes.ACC_STATIC) != 0;
            if (isStatic && name.equals("bind") && of.contains("Ljava/io/FileDescriptor;Ljava/net/InetAddress;I)")) {
                bound++;
                return new Asking(to, "bind", of.startsWith("(Ljava/io/") ? 1 : 2);
            }
            if (isStatic && name.equals("connect") && of.contains("Ljava/io/FileDescriptor;Ljava/net/InetAddress;I)")) {
                connected++;
                return new Asking(to, "connect", of.startsWith("(Ljava/io/") ? 1 : 2);
            }
            if (isStatic && name.equals("connect") && of.contains("Ljava/io/FileDescriptor;Ljava/net/SocketAddress;)")) {
                connected++;
                return new Asking(to, "send", 2);
            }
            if (!isStatic && of.startsWith("(Ljava/nio/ByteBuffer;Ljava/net/SocketAddress;)")) {
                sent++;
                return new Asking(to, "send", 2);
            }
            return to;
        }
    }

    /** A method that begins with a question to the border about the address in its variable. */
    private static final class Asking extends MethodVisitor {
        private final String question;
        private final int address;

        Asking(MethodVisitor to, String question, int address) {
            super(Opcodes.ASM9, to);
            this.question = question;
            this.address = address;
        }

        public void visitCode() {
            super.visitCode();
            visitVarInsn(Opcodes.ALOAD, address);
            if (question.equals("send")) {
                visitMethodInsn(Opcodes.INVOKESTATIC, BORDER, "send", "(Ljava/net/SocketAddress;)V", false);
                return;
            }
            visitVarInsn(Opcodes.ILOAD, address + 1);
            String of = "(Ljava/net/InetAddress;I)Ljava/net/InetAddress;";
            visitMethodInsn(Opcodes.INVOKESTATIC, BORDER, question, of, false);
            visitVarInsn(Opcodes.ASTORE, address);
        }
    }

    // --- the lease ---

    private static void watch(final Path lease) {
        Thread thread = new Thread("mqlab-lease") {
            public void run() {
                try {
                    while (!isOver(lease)) {
                        Thread.sleep(LOOK_PERIOD_MS);
                    }
                } catch (InterruptedException e) {
                    return;
                }
                Runtime.getRuntime().halt(EXIT_CODE);
            }
        };
        thread.setDaemon(true);
        thread.start();
    }

    private static boolean isOver(Path lease) throws InterruptedException {
        boolean over = isOverNow(lease);
        long end = System.nanoTime() + GRACE_NS;
        while (over && System.nanoTime() - end < 0) {
            Thread.sleep(LOOK_PERIOD_MS);
            over = isOverNow(lease);
        }
        return over;
    }

    /** Its time has passed, it was taken away, or its owner is gone and it is not kept. What cannot be read ends nothing. */
    private static boolean isOverNow(Path lease) {
        String text;
        try {
            text = new String(Files.readAllBytes(lease), StandardCharsets.UTF_8);
        } catch (NoSuchFileException e) {
            return true;
        } catch (IOException e) {
            return false;
        }
        Matcher until = UNTIL.matcher(text);
        Matcher owner = OWNER.matcher(text);
        if (!until.find() || !owner.find()) {
            return false;
        }
        boolean passed = System.nanoTime() >= Long.parseLong(until.group(1));
        return passed || !KEPT.matcher(text).find() && isGone(owner.group(1), owner.group(2), owner.group(3));
    }

    /** Of another namespace than ours a process cannot be seen. */
    private static boolean isGone(String pid, String startTicks, String namespace) {
        try {
            if (!Files.readSymbolicLink(Paths.get("/proc/self/ns/pid", new String[0])).toString().equals(namespace)) {
                return false;
            }
            Path stat = Paths.get("/proc", new String[] {pid, "stat"});
            String text = new String(Files.readAllBytes(stat), StandardCharsets.ISO_8859_1);
            String[] fields = text.substring(text.lastIndexOf(')') + 2).split(" ");
            return !fields[19].equals(startTicks) || fields[0].equals("Z") || fields[0].equals("X");
        } catch (NoSuchFileException e) {
            return !new File("/proc/" + pid).exists();
        } catch (IOException e) {
            return !new File("/proc/" + pid).exists();
        }
    }
}
