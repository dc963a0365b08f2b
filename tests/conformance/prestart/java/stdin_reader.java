import java.io.*;

public class Main {
    public static void main(String[] args) throws Exception {
        BufferedReader reader = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = reader.readLine()) != null; ) System.out.println(line.length());
        System.out.println(System.in.read() + " " + System.console());
    }
}
