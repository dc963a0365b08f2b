import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A program with something of everything, compiled and run once for the class archives. */
public class Sample {
    interface Shape {
        double area();
    }

    record Circle(double radius) implements Shape {
        @Override
        public double area() {
            return Math.PI * radius * radius;
        }
    }

    enum Colour { RED, GREEN }

    static class Box<T extends Comparable<T>> {
        private final List<T> items = new ArrayList<>();

        void add(T item) {
            items.add(item);
        }

        T largest() {
            T largest = items.get(0);
            for (T item : items) {
                if (item.compareTo(largest) > 0) {
                    largest = item;
                }
            }
            return largest;
        }
    }

    static int fibonacci(int n) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    @SuppressWarnings("rawtypes")
    public static void main(String[] args) throws IOException {
        Box<Integer> box = new Box<>();
        for (int number : new int[] {3, 1, 2}) {
            box.add(number);
        }
        List raw = new ArrayList();
        raw.add(box.largest());
        Map<String, List<Integer>> groups = new HashMap<>();
        groups.computeIfAbsent("key", key -> new ArrayList<>()).add(fibonacci(10));
        String words = Arrays.asList("b", "a", "c").stream()
                .sorted().map(String::toUpperCase).collect(Collectors.joining(", "));
        List<Integer> squares = IntStream.range(0, 10).boxed()
                .filter(i -> i % 2 == 0).map(i -> i * i).collect(Collectors.toList());
        Function<Shape, String> describe = shape -> shape.getClass().getSimpleName() + " " + shape.area();
        Object value = Colour.values().length;
        if (value instanceof Integer count && count > 1) {
            words += switch (Colour.RED) {
                case RED -> "red";
                default -> {
                    yield "none";
                }
            };
        }
        StringBuilder text = new StringBuilder();
        try (Scanner in = new Scanner(System.in)) {
            while (in.hasNextLine()) {
                text.append(in.nextLine()).append('\n');
            }
        } catch (IllegalStateException error) {
            System.err.println("error: " + error.getMessage());
        }
        Runnable runnable = new Runnable() {
            @Override
            public void run() {
                System.out.printf("%d %.2f %s%n", groups.size(), 1.5, String.format("%5s", "x"));
            }
        };
        runnable.run();
        System.out.println(words + squares + describe.apply(new Circle(1)) + text + raw);
    }
}
