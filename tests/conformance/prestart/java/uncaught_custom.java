public class Main {
    public static void main(String[] args) throws Exception {
        throw new Problem("mine");
    }
    static class Problem extends Exception {
        Problem(String message) {
            super(message);
        }
    }
}
