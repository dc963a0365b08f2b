public class Main {
    public static void main(String[] args) throws Exception {
        byte[] all = System.in.readAllBytes();
        System.out.println(all.length + " " + new String(all, "UTF-8"));
    }
}
