// SPDX-License-Identifier: GPL-2.0-or-later
// `Server.java PORT COLLECT`: a thread a connection; with COLLECT full collections of a heap of small objects.
import java.net.*;
import java.util.*;

public class Server {
    static List<Object[]> heap = new ArrayList<>();

    static void serve(Socket socket) {
        byte[] answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nEND\r\n".getBytes();
        byte[] request = new byte[4096];
        try {
            socket.setTcpNoDelay(true);
            while (socket.getInputStream().read(request) > 0) {
                socket.getOutputStream().write(answer);
            }
        } catch (Exception gone) {
        }
    }

    static void collect() {
        for (int i = 0; i < 2_000_000; i++) heap.add(new Object[] {i});
        while (true) {
            try { Thread.sleep(500); } catch (InterruptedException end) { return; }
            System.gc();
        }
    }

    public static void main(String[] words) throws Exception {
        if (words[1].equals("1")) {
            Thread collector = new Thread(Server::collect);
            collector.setDaemon(true);
            collector.start();
        }
        ServerSocket listener = new ServerSocket(Integer.parseInt(words[0]), 200, InetAddress.getByName("127.0.0.1"));
        while (true) {
            Socket socket = listener.accept();
            new Thread(() -> serve(socket)).start();
        }
    }
}
