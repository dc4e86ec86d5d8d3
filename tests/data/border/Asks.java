package mqlab;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** Listens in six ways, one of them at its last word; then connects in each way that Java has: "WAY ok" or "WAY EXCEPTION" a line. */
public final class Asks {
    public static void main(String[] words) throws Exception {
        String outside = words[0];
        int port = Integer.parseInt(words[1]);
        int peer = Integer.parseInt(words[2]);
        ServerSocketChannel.open().bind(new InetSocketAddress(0));
        ServerSocketChannel.open().bind(new InetSocketAddress("0.0.0.0", 0));
        DatagramChannel.open().bind(new InetSocketAddress(0));
        new ServerSocket(0);
        new ServerSocket(0, 5, InetAddress.getByName(words[3]));
        new DatagramSocket(0);
        for (int i = 0; i < 8; i++) {
            try {
                ask(i, new InetSocketAddress(outside, port), new InetSocketAddress("127.0.0.1", peer));
                System.out.println(i + " ok");
            } catch (IOException e) {
                System.out.println(i + " " + e.getClass().getSimpleName());
            }
        }
        System.out.println("asked");
        System.in.read();
    }

    private static void ask(int way, InetSocketAddress to, InetSocketAddress peer) throws IOException {
        byte[] bytes = new byte[] {1, 2, 3};
        if (way == 0) {
            new Socket(to.getAddress(), to.getPort());
        } else if (way == 1) {
            SocketChannel.open(to);
        } else if (way == 2) {
            DatagramSocket socket = new DatagramSocket();
            socket.send(new DatagramPacket(bytes, bytes.length, to));
        } else if (way == 3) {
            DatagramChannel.open().send(ByteBuffer.wrap(bytes), to);
        } else if (way == 4) {
            DatagramChannel.open().connect(to);
        } else if (way == 5) {
            new URL("http://" + to.getAddress().getHostAddress() + ":" + to.getPort() + "/").openStream();
        } else if (way == 6) {
            InetAddress.getByName("lab.example.org");
        } else {
            SocketChannel.open(peer);
        }
    }
}
