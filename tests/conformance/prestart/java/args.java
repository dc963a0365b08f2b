public class Main {
    public static void main(String[] args) throws Exception {
        System.out.println(args.length + java.util.Arrays.toString(args));
        System.out.println(System.getProperty("sun.java.command"));
    }
}
