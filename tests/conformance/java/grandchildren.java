import java.io.IOException;

public class Main {
    public static void main(String[] args) throws IOException {
        new ProcessBuilder("sh", "-c", "sleep 600 & sleep 600").inheritIO().start();
        System.out.println("parent done");
    }
}
