public class Main {
    public static void main(String[] args) throws Exception {
        Thread main = Thread.currentThread();
        new Thread(() -> {
            try { main.join(); } catch (InterruptedException error) { }
            System.out.println("thread ends last");
        }).start();
        throw new Exception("main ends");
    }
}
