package some.where;
public class Program {
    public static void main(String[] args) throws Exception {
        System.out.println(Program.class + " " + Program.class.getPackage());
        throw new Exception("boom");
    }
}
