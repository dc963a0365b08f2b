import java.lang.reflect.*;

public class Main {
    public static void main(String[] args) throws Exception {
        Greeter proxy = (Greeter) Proxy.newProxyInstance(Main.class.getClassLoader(), new Class<?>[] {Greeter.class},
                (self, method, arguments) -> method.getName() + " " + arguments[0]);
        System.out.println(proxy.greet("you"));
        System.out.println(Main.class.getMethod("main", String[].class) + " " + Main.class.getDeclaredMethods().length);
        System.out.println(Main.class.getNestHost() + " " + Main.class.getNestMembers().length);
        try {
            Main.class.getDeclaredMethod("fails").invoke(null);
        } catch (InvocationTargetException error) {
            System.out.println(error.getCause().getMessage());
        }
    }
    interface Greeter {
        String greet(String whom);
    }
    static void fails() {
        throw new RuntimeException("called");
    }
}
