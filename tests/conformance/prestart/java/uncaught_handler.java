import java.util.Arrays;

public class Main {
    public static void main(String[] args) throws Exception {
        Thread.setDefaultUncaughtExceptionHandler((thread, error) ->
                System.out.println(thread.getName() + ": " + error + " " + Arrays.toString(error.getStackTrace())));
        Thread other = new Thread(() -> { throw new RuntimeException("first"); }, "other");
        other.start();
        other.join();
        throw new Exception("second");
    }
}
