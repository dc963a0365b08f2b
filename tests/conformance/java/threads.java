import java.util.ArrayList;
import java.util.List;

public class Main {
    private static int counter = 0;

    private static synchronized void increment() {
        counter++;
    }

    public static void main(String[] args) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            var thread = new Thread(() -> {
                for (int n = 0; n < 1000; n++) {
                    increment();
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(counter);
    }
}
