public class Main {
    private static void inner() {
        throw new IllegalStateException("boom-42");
    }

    private static void outer() {
        inner();
    }

    public static void main(String[] args) {
        outer();
    }
}
