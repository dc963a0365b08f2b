public class Main {
    static { System.out.println("bye"); System.exit(6); }
    public static void main(String[] args) {}
}
