import java.util.function.*;
public class Main {
    sealed interface Shape permits Circle, Square {}
    record Circle(double r) implements Shape {}
    record Square(double s) implements Shape {}
    static <T, R> R apply(T value, Function<? super T, ? extends R> f) {
        return f.apply(value);
    }
    abstract static class Animal {
        abstract String sound();
        @Override public String toString() { return getClass().getSimpleName() + " says " + sound(); }
    }
    public static void main(String[] args) {
        System.out.println(apply(new Circle(1), c -> c.r() * 2) + " " + new Square(2));
        System.out.println(new Animal() { String sound() { return "anonymous"; } });
        Supplier<Supplier<String>> nested = () -> () -> "nested";
        System.out.println(nested.get().get());
        BiFunction<Integer, Integer, Integer> sum = Integer::sum;
        System.out.println(sum.andThen(i -> i * 2).apply(1, 2));
        int[][] grid = new int[3][4];
        grid[1][2] = 7;
        System.out.println(java.util.Arrays.deepToString(grid));
        Object nothing = null;
        nothing.toString();
    }
}
