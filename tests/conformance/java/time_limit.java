public class Main {
    private static void spin() {
        while (true) {
            Thread.onSpinWait();
        }
    }

    public static void main(String[] args) {
        // SIGTERM and its like end a JVM only once the hooks have returned.
        Runtime.getRuntime().addShutdownHook(new Thread(Main::spin));
        spin();
    }
}
