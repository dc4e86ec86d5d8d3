package sun.nio.ch;

import java.io.FileOutputStream;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketAddress;
import java.util.HashSet;
import java.util.Set;

/**
 * What a node's sockets may do: listen on loopback, and connect to their cluster's nodes.
 *
 * <p>It is defined beside the class of Java that binds and connects, and called by it. Each address that was refused is
 * written down once, "WHAT ADDRESS:PORT" a line.
 */
public final class MqlabBorder {
    private static final byte[] LOOPBACK = {127, 0, 0, 1};
    private static final int TOLD_MAX = 1000;
    private static final Set PEERS = new HashSet();
    private static final Set TOLD = new HashSet();
    private static String file;

    private MqlabBorder() {
    }

    /** From now on: peers are ADDRESS:PORT, by commas, or "*" for all of loopback. */
    public static void keep(String peers, String told) {
        String[] each = peers.split(",");
        for (int i = 0; i < each.length; i++) {
            PEERS.add(each[i]);
        }
        file = told;
    }

    /** Where to listen instead of there. */
    public static InetAddress bind(InetAddress address, int port) throws IOException {
        if (address.isLoopbackAddress()) {
            return address;
        }
        if (!address.isAnyLocalAddress()) {
            tell("listen", address, port);
        }
        return InetAddress.getByAddress(LOOPBACK);
    }

    /** Refuses every other address than a node's. */
    public static InetAddress connect(InetAddress address, int port) throws IOException {
        InetAddress meant = address.isAnyLocalAddress() ? InetAddress.getByAddress(LOOPBACK) : address;
        if (meant.isLoopbackAddress() && PEERS.contains("*") || PEERS.contains(meant.getHostAddress() + ":" + port)) {
            return meant;
        }
        // A node that takes this machine's address for its own reaches itself there, were it not on loopback alone.
        if (!PEERS.contains("127.0.0.1:" + port) || NetworkInterface.getByInetAddress(address) == null) {
            tell("connect", address, port);
        }
        throw new ConnectException("outside of the lab: " + address.getHostAddress() + ":" + port);
    }

    /** The same of a datagram, or of a socket for them. */
    public static void send(SocketAddress to) throws IOException {
        if (to instanceof InetSocketAddress && !((InetSocketAddress) to).isUnresolved()) {
            connect(((InetSocketAddress) to).getAddress(), ((InetSocketAddress) to).getPort());
        }
    }

    private static synchronized void tell(String what, InetAddress address, int port) {
        String line = what + " " + address.getHostAddress() + ":" + port + "\n";
        if (TOLD.size() >= TOLD_MAX || !TOLD.add(line)) {
            return;
        }
        try {
            FileOutputStream out = new FileOutputStream(file, true);
            try {
                out.write(line.getBytes("US-ASCII"));
            } finally {
                out.close();
            }
        } catch (IOException e) {
            // A full disk does not open the border.
            return;
        }
    }
}
