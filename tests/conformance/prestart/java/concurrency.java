import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.stream.*;

public class Main {
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Integer>> results = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            int n = i;
            results.add(pool.submit(() -> n * n));
        }
        int sum = 0;
        for (Future<Integer> result : results) sum += result.get();
        System.out.println(sum);
        pool.shutdown();
        System.out.println(CompletableFuture.supplyAsync(() -> 20).thenApply(i -> i + 1).join());
        AtomicInteger counter = new AtomicInteger();
        IntStream.range(0, 1000).parallel().forEach(i -> counter.incrementAndGet());
        System.out.println(counter);
        Thread sleeper = new Thread(() -> {
            try {
                Thread.sleep(60_000);
            } catch (InterruptedException error) {
                System.out.println("interrupted");
            }
        });
        sleeper.start();
        sleeper.interrupt();
        sleeper.join();
        CompletableFuture.supplyAsync(() -> { throw new IllegalStateException("future"); }).join();
    }
}
