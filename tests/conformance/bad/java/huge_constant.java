public class Main {
    // The compiler joins constants: each is eight times the one before.
    private static final String S0 = "0123456789abcdef";
    private static final String S1 = S0 + S0 + S0 + S0 + S0 + S0 + S0 + S0;
    private static final String S2 = S1 + S1 + S1 + S1 + S1 + S1 + S1 + S1;
    private static final String S3 = S2 + S2 + S2 + S2 + S2 + S2 + S2 + S2;
    private static final String S4 = S3 + S3 + S3 + S3 + S3 + S3 + S3 + S3;
    private static final String S5 = S4 + S4 + S4 + S4 + S4 + S4 + S4 + S4;
    private static final String S6 = S5 + S5 + S5 + S5 + S5 + S5 + S5 + S5;
    private static final String S7 = S6 + S6 + S6 + S6 + S6 + S6 + S6 + S6;
    private static final String S8 = S7 + S7 + S7 + S7 + S7 + S7 + S7 + S7;
    private static final String S9 = S8 + S8 + S8 + S8 + S8 + S8 + S8 + S8;

    public static void main(String[] args) {
        System.out.println(S9.length());
    }
}
