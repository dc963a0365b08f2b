import java.nio.file.Files;
import java.nio.file.Path;

@Deprecated
public class Main {
    public static void main(String[] args) {
        boolean ran = Files.exists(Path.of("processor-ran.txt"));
        System.out.println(ran ? "the processor ran" : "no processor ran");
    }
}
