public class Main {
    static int value = compute();
    static int compute() {
        throw new IllegalStateException("static");
    }
    public static void main(String[] args) {
        System.out.println("never");
    }
}
