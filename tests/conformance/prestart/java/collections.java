import java.util.*;
import java.util.stream.*;

public class Main {
    public static void main(String[] args) throws Exception {
        Map<String, List<Integer>> groups = IntStream.range(0, 20).boxed()
                .collect(Collectors.groupingBy(i -> i % 3 == 0 ? "fizz" : "other", TreeMap::new, Collectors.toList()));
        System.out.println(groups);
        PriorityQueue<int[]> queue = new PriorityQueue<>(Comparator.comparingInt(a -> a[1]));
        queue.add(new int[] {1, 9});
        queue.add(new int[] {2, 3});
        System.out.println(queue.poll()[0] + " " + new ArrayDeque<>(List.of(1, 2)).pollLast());
        System.out.println(Stream.iterate(1, i -> i * 2).limit(10).map(String::valueOf).collect(Collectors.joining(",", "[", "]")));
        System.out.printf("%5.2f|%-8s|%08d|%,d|%x|%e%n", Math.PI, "left", 42, 1234567, 255, 12345.678);
        System.out.println(new HashSet<>(List.of("c", "a", "b")) + " " + Optional.empty().isPresent());
        List.of(1).add(2);
    }
}
