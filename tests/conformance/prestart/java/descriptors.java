import java.nio.file.*;

public class Main {
    public static void main(String[] args) throws Exception {
        try (var files = Files.list(Path.of("/proc/self/fd"))) {
            System.out.println(files.map(path -> {
                try {
                    return path.getFileName() + Files.readSymbolicLink(path).toString().replaceAll("[0-9]+", "");
                } catch (Exception error) {
                    return "";
                }
            }).filter(text -> text.contains("pipe:") || text.contains("socket:")).sorted().toList());
        }
    }
}
