public class Main {
    public static void main(String[] args) throws Exception {
        try {
            again(0);
        } catch (StackOverflowError error) {
            System.out.println(error.getClass() + " " + (depth > 1000));
        }
        again(0);
    }
    static int depth;
    static int again(int i) {
        depth = i;
        return again(i + 1) + 1;
    }
}
