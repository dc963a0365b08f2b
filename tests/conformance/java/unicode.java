public class Main {
    public static void main(String[] args) {
        String text = "Grüße, 世界 🌍";
        System.out.println(text);
        System.out.println(text.codePointCount(0, text.length()));
    }
}
