public class Main {
    public static void main(String[] args) throws Exception {
        inner(0);
    }
    static void inner(int i) {
        System.out.println(1 / i);
    }
}
