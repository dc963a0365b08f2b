public enum Main {
    ONE, TWO;
    public static void main(String[] args) {
        System.out.println(java.util.Arrays.toString(values()));
    }
}
