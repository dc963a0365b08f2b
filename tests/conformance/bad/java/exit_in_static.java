public class Main {
    static {
        System.out.println("static");
        System.exit(3);
    }

    public static void main(String[] args) {
        System.out.println("never printed");
    }
}
