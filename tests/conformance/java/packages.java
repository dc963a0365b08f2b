package demo.app;

public class Main {
    private static class Helper {
        String name() {
            return getClass().getName();
        }
    }

    public static void main(String[] args) {
        System.out.println(Main.class.getName());
        System.out.println(new Helper().name());
        System.out.println(Main.class.getPackageName());
    }
}
