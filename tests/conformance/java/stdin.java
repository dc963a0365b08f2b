import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

public class Main {
    public static void main(String[] args) throws IOException {
        var in = new BufferedReader(new InputStreamReader(System.in));
        int count = 0;
        for (String line; (line = in.readLine()) != null; count++) {
            System.out.println(line.codePointCount(0, line.length()));
        }
        System.out.println("lines: " + count);
    }
}
