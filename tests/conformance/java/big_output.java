import java.io.BufferedWriter;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;

public class Main {
    public static void main(String[] args) {
        try (var out = new PrintWriter(
                new BufferedWriter(new OutputStreamWriter(System.out), 1 << 16))) {
            for (int n = 0; n < 200_000; n++) {
                out.println("line " + n);
            }
        }
    }
}
