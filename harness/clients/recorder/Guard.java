package mqlab;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/**
 * Lets a client ask allowed addresses only, whatever a name server tells it: every request passes here before it is
 * written. Names were refused before, so that looking an address up never asks a resolver.
 */
public final class Guard implements RPCHook {
    private final byte[][] networks;
    private final int[] bits;
    private final Map seen = new ConcurrentHashMap();

    /** {@code allowed} are networks such as 127.0.0.0/8. */
    public Guard(String[] allowed) throws UnknownHostException {
        networks = new byte[allowed.length][];
        bits = new int[allowed.length];
        for (int i = 0; i < allowed.length; i++) {
            int slash = allowed[i].indexOf('/');
            networks[i] = InetAddress.getByName(allowed[i].substring(0, slash)).getAddress();
            bits[i] = Integer.parseInt(allowed[i].substring(slash + 1));
        }
    }

    public void doBeforeRequest(String remoteAddr, RemotingCommand request) {
        // 4.x names no address when it asks its name server, which was checked before the client got it.
        if (remoteAddr == null || seen.containsKey(remoteAddr)) {
            return;
        }
        if (!isAllowed(remoteAddr)) {
            throw new IllegalStateException(remoteAddr + " is not an allowed target");
        }
        // A load asks few addresses very often, and to take one apart costs as much as to record a message.
        seen.put(remoteAddr, Boolean.TRUE);
    }

    public void doAfterResponse(String remoteAddr, RemotingCommand request, RemotingCommand response) {
        // Only what is asked can go astray.
    }

    private boolean isAllowed(String remoteAddr) {
        String host = remoteAddr.substring(0, remoteAddr.lastIndexOf(':'));
        if (!host.matches("[0-9.]+|\\[?[0-9a-fA-F:.]+\\]?")) {
            return false;
        }
        byte[] address;
        try {
            address = InetAddress.getByName(host).getAddress();
        } catch (UnknownHostException e) {
            return false;
        }
        for (int i = 0; i < networks.length; i++) {
            if (isIn(address, networks[i], bits[i])) {
                return true;
            }
        }
        return false;
    }

    private static boolean isIn(byte[] address, byte[] network, int bits) {
        if (address.length != network.length) {
            return false;
        }
        for (int bit = 0; bit < bits; bit++) {
            int mask = 128 >> bit % 8;
            if ((address[bit / 8] & mask) != (network[bit / 8] & mask)) {
                return false;
            }
        }
        return true;
    }
}
