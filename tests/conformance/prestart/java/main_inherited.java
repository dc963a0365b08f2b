public class Main extends Parent {}
class Parent {
    public static void main(String... args) {
        System.out.println("inherited " + args.length);
    }
}
