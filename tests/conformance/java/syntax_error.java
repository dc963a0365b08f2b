public class Main {
    public static void main(String[] args) {
        int answer = "forty-two";
        System.out.println(answer);
    }
}
