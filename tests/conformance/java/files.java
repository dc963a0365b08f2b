import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.regex.Pattern;

public class Main {
    private static final Pattern LETTERS = Pattern.compile("[a-z]+");

    public static void main(String[] args) throws IOException {
        String text = Files.readString(Path.of("input.txt"));
        Path result = Path.of("out", "result.txt");
        Files.createDirectories(result.getParent());
        Files.writeString(result, LETTERS.matcher(text)
                .replaceAll(match -> match.group().toUpperCase(Locale.ROOT)));
        System.out.println("ok");
    }
}
