public class Main {
    public static void main(String[] args) throws Exception {
        Thread thread = new Thread(() -> { throw new IllegalStateException("in a thread"); }, "worker");
        thread.start();
        thread.join();
        System.out.println("main goes on");
    }
}
