public class Main {
    public static void main(String[] args) {
        try {
            System.out.println(Other.value);
        } catch (ExceptionInInitializerError error) {
            error.printStackTrace();
        }
        System.out.println(Other.value);
    }
}
class Other {
    static int value = Integer.parseInt("no number");
}
