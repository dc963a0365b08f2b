public class Main {
    public static void main(String[] args) throws Exception {
        Thread daemon = new Thread(() -> {
            try { Thread.sleep(60_000); } catch (InterruptedException error) { }
            System.out.println("never");
        });
        daemon.setDaemon(true);
        daemon.start();
        System.out.println("main ends");
    }
}
