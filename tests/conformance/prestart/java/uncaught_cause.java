public class Main {
    public static void main(String[] args) throws Exception {
        try {
            Integer.parseInt("x");
        } catch (NumberFormatException error) {
            RuntimeException outer = new RuntimeException("outer", new IllegalStateException("middle", error));
            outer.addSuppressed(new Exception("suppressed"));
            throw outer;
        }
    }
}
