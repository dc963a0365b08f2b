public class Main {
    public static void main(String[] args) throws Exception {
        System.out.println("leaving");
        System.exit(42);
    }
}
