public class Greeter {
    private final String name;

    public Greeter(String name) {
        this.name = name;
    }

    public String greeting() {
        return "Hello, " + name;
    }

    public static void main(String[] args) {
        System.out.println(new Greeter("reader").greeting());
        System.out.println(Greeter.class.getName());
    }
}
