public class Main {
    public static void main(String[] args) throws Exception {
        try {
            byte[][] all = new byte[10_000][];
            for (int i = 0; i < all.length; i++) all[i] = new byte[10_000_000];
        } catch (OutOfMemoryError error) {
            System.out.println(error.getMessage());
        }
    }
}
