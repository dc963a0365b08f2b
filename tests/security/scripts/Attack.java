// In Java: files, sockets and children; and the way into another JVM.
import java.io.*;
import java.net.*;
import java.nio.channels.SocketChannel;
import java.nio.file.*;
import java.util.concurrent.Callable;

public class Attack {
    static int made = 0;

    static void refused(String name, Callable<Boolean> action) {
        ++made;
        boolean through;
        try {
            through = action.call();
        } catch (Exception | LinkageError e) {
            return;
        }
        if (!through) return;
        System.err.println(name + " went through");
        Runtime.getRuntime().halt(43);
    }

    static boolean run(String... command) throws Exception {
        return new ProcessBuilder(command).redirectErrorStream(true)
            .redirectOutput(new File("/dev/null")).redirectInput(new File("/dev/null"))
            .start().waitFor() == 0;
    }

    public static void main(String[] args) {
        String directory = args[0];
        int port = Integer.parseInt(args[3]);
        for (String path : new String[] {"/etc/passwd", "/usr/bin/java", "/proc/self/mem",
                "/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", directory + "/file"}) {
            refused("write " + path, () -> {
                try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
                    file.write('x');
                    return true;
                }
            });
        }
        for (String path : new String[] {"/etc/shadow", "/proc/1/environ", "/proc/kcore",
                "/proc/1/root/etc/passwd", "/dev/mem", directory + "/file"}) {
            refused("read " + path, () -> {
                try (InputStream file = new FileInputStream(path)) {
                    return file.read() >= 0;
                }
            });
        }
        for (String host : new String[] {"127.0.0.1", "::1"}) {
            refused("port", () -> {
                new Socket().connect(new InetSocketAddress(host, port), 2000);
                return true;
            });
        }
        for (String host : new String[] {"192.0.2.1", "169.254.169.254"}) {
            refused("outside", () -> {
                new Socket().connect(new InetSocketAddress(host, 80), 2000);
                return true;
            });
        }
        refused("socket", () -> SocketChannel.open(UnixDomainSocketAddress.of(args[1])).isConnected());
        refused("bait", () -> ProcessHandle.of(Long.parseLong(args[4])).isPresent());
        refused("init", () -> ProcessHandle.of(1).map(ProcessHandle::destroyForcibly).orElse(false));
        refused("library", () -> {
            System.load(directory + "/file");
            return true;
        });
        refused("link", () -> Files.createLink(Path.of("own"), Path.of("/usr/bin/su")) != null);
        refused("owner", () -> Files.setAttribute(Path.of("/tmp"), "unix:uid", 0) != null);
        for (String command : new String[] {"unshare -Ur true", "mount -t tmpfs x /tmp", "su -c true"}) {
            refused(command, () -> run("sh", "-c", command));
        }
        Runtime.getRuntime().halt(made == 25 ? 42 : 44);
    }
}
