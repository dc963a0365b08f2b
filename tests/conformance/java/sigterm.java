import java.io.IOException;

public class Main {
    public static void main(String[] args) throws IOException, InterruptedException {
        Runtime.getRuntime().addShutdownHook(
                new Thread(() -> System.out.println("hook ran")));
        String pid = Long.toString(ProcessHandle.current().pid());
        new ProcessBuilder("kill", "-TERM", pid).inheritIO().start();
        Thread.sleep(10_000);
        System.out.println("still alive");
    }
}
