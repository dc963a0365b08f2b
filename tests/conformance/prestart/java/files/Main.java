import util.Text;
public class Main {
    public static void main(String[] args) throws Exception {
        System.out.println(Text.shout("hello") + new Helper().name());
        try (var in = Main.class.getResourceAsStream("/data.txt")) {
            System.out.print(new String(in.readAllBytes()));
        }
        System.out.println(Main.class.getClassLoader().getResource("util/extra.txt"));
        System.out.println(ClassLoader.getSystemResource("missing.txt"));
    }
}
