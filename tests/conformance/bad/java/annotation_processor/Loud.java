import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import javax.annotation.processing.AbstractProcessor;
import javax.annotation.processing.RoundEnvironment;
import javax.annotation.processing.SupportedAnnotationTypes;
import javax.lang.model.SourceVersion;
import javax.lang.model.element.TypeElement;

@SupportedAnnotationTypes("*")
public class Loud extends AbstractProcessor {
    public Loud() {
        System.err.println("PROCESSOR RAN");
        try {
            Files.writeString(Path.of("processor-ran.txt"), "at compile time\n");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    // Lets it be compiled as a program, for its class file.
    public static void main(String[] args) {}

    @Override
    public SourceVersion getSupportedSourceVersion() {
        return SourceVersion.latest();
    }

    @Override
    public boolean process(Set<? extends TypeElement> annotations, RoundEnvironment env) {
        return false;
    }
}
