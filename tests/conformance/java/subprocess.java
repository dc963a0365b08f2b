import java.io.IOException;

public class Main {
    public static void main(String[] args) throws IOException, InterruptedException {
        Process process = new ProcessBuilder("sh", "-c", "/bin/echo child $((6*7))")
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        String output = new String(process.getInputStream().readAllBytes());
        process.waitFor();
        System.out.print("got: " + output);
    }
}
