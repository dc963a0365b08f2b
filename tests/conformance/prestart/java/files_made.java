import java.nio.file.*;

public class Main {
    public static void main(String[] args) throws Exception {
        System.out.println(Path.of("").toAbsolutePath());
        Files.writeString(Path.of("made.txt"), "made");
        System.out.println(Files.readString(Path.of("made.txt")) + new java.util.TreeSet<>(Files.getPosixFilePermissions(Path.of("made.txt"))));
        System.out.println(Files.list(Path.of("/tmp")).count() + " " + Files.list(Path.of(System.getenv("HOME"))).count());
        try (var files = Files.list(Path.of("."))) {
            System.out.println(files.map(Path::toString).sorted().toList());
        }
    }
}
