public class Main {
    public static void main(String[] args) throws Exception {
        new Thread(() -> {
            try { Thread.sleep(50); } catch (InterruptedException error) { }
            System.out.println("thread ends last");
        }).start();
        throw new Exception("main ends");
    }
}
