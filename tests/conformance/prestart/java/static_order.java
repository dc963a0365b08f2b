public class Main extends Base {
    static { System.out.println("Main"); }
    public static void main(String[] args) {
        System.out.println("main " + Thread.currentThread().getName());
    }
}
class Base {
    static { System.out.println("Base"); }
}
