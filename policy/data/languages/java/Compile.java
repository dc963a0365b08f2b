import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TaskEvent;
import com.sun.source.util.TaskListener;
import com.sun.source.util.Trees;
import com.sun.tools.javac.api.BasicJavacTask;
import com.sun.tools.javac.api.JavacTaskPool;
import com.sun.tools.javac.util.JCDiagnostic;
import com.sun.tools.javac.util.Log;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import javax.lang.model.element.Element;
import javax.lang.model.element.ExecutableElement;
import javax.lang.model.element.Modifier;
import javax.lang.model.element.TypeElement;
import javax.lang.model.type.TypeKind;
import javax.lang.model.util.ElementFilter;
import javax.tools.Diagnostic;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.ForwardingJavaFileObject;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;

/**
 * Compiles the Java files named by its arguments, the program's own first, into main.jar,
 * which "java -jar" runs. It does what javac would do, in one JVM with the making of the jar;
 * its class archive (CDS) makes that JVM start fast. With the arguments "--wait SAMPLE" it compiles
 * the sample, then waits until it is told what to compile. With "--facts PATH" before the files it
 * also writes to that path what they do (docs/analysers.md); there is no such file where it can't
 * tell.
 *
 * <p>The jar starts the first class of the program's file that has, or inherits, a method
 * {@code public static void main(String[])}: a public class if there is one, else any. If that
 * file has none, the other files are looked through in the same way, in turn.
 */
final class Compile {
    private static final String JAR = "main.jar";
    /** What a request names as "libraries". */
    private static final Path INSTALLED = Path.of("/opt/libraries");
    private static final int REHEARSALS = 2;

    // Without a path of their own, plugins that start themselves would be looked for, and run,
    // among the program's classes, with or without -proc:none.
    private static final List<String> OPTIONS =
            List.of("-proc:none", "-processorpath", "", "-encoding", "UTF-8");

    /** Keeps what a compilation has read of the JDK's classes for the next with the same files. */
    private final JavacTaskPool compilers = new JavacTaskPool(1);
    private final StandardJavaFileManager files =
            ToolProvider.getSystemJavaCompiler().getStandardFileManager(null, null, UTF_8);
    private final Output output = new Output(files);

    /** Compiled classes, by their name in the jar. */
    private final Map<String, ByteArrayOutputStream> classes = new LinkedHashMap<>();
    private final List<CompilationUnitTree> units = new ArrayList<>();
    private final Set<String> runnable = new HashSet<>();
    private Facts facts;
    private List<String> libraries = List.of();

    public static void main(String[] arguments) throws IOException {
        List<String> sources = List.of(arguments);
        Compile compile = new Compile();
        if (sources.size() == 2 && sources.get(0).equals("--wait")) {
            compile.rehearse(sources.subList(1, 2));
            sources = awaitJob();
        }
        Path facts = null;
        if (sources.size() > 2 && sources.get(0).equals("--facts")) {
            facts = Path.of(sources.get(1));
            sources = sources.subList(2, sources.size());
        }
        compile.run(sources, facts);
    }

    /** Compiles a sample, for nobody: a JVM that has done so some times is ten times as fast. */
    private void rehearse(List<String> sample) throws IOException {
        for (int i = 0; i < REHEARSALS; i++) {
            ByteArrayOutputStream messages = new ByteArrayOutputStream();
            libraries = libraries();
            facts = new Facts();
            if (!compile(sample, messages, JavacTask::call)) {
                throw new IOException("the sample does not compile: " + messages.toString(UTF_8));
            }
            facts.text();
            writeJar(mainClass(), OutputStream.nullOutputStream());
            classes.clear();
            units.clear();
            runnable.clear();
        }
        System.gc();
    }

    /** Says that it waits, and takes what it is told (sandbox/jail/job_frame.h). */
    private static List<String> awaitJob() throws IOException {
        System.out.print("sandglass: waiting\n");
        System.out.flush();
        DataInputStream input = new DataInputStream(new FileInputStream(FileDescriptor.in));
        byte[] job = new byte[input.readInt()];
        input.readFully(job);
        List<String> words = List.of(new String(job, UTF_8).split("\0", -1));
        return words.subList(1, 1 + Integer.parseInt(words.get(0)));
    }

    /** Ends the JVM. */
    private void run(List<String> sources, Path factsFile) throws IOException {
        libraries = libraries();
        facts = factsFile == null ? null : new Facts();
        compile(sources, System.err, task -> {
            boolean compiled = task.call();
            if (facts != null) {
                try {
                    Files.write(factsFile, facts.text());
                } catch (IOException error) {
                    throw new UncheckedIOException(error);
                }
            }
            // Here, since the pool then makes the compiler ready for another program.
            System.exit(compiled && wroteJar(sources) ? 0 : 1);
            return false;
        });
    }

    private boolean wroteJar(List<String> sources) {
        String main = mainClass();
        if (main == null) {
            System.err.println(sources.get(0)
                    + ": error: no class has a method 'public static void main(String[] args)'");
            return false;
        }
        try (OutputStream jar = new FileOutputStream(JAR)) {
            writeJar(main, jar);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return true;
    }

    private boolean compile(List<String> sources, OutputStream messages,
            JavacTaskPool.Worker<Boolean> worker) throws IOException {
        List<Path> classPath = new ArrayList<>();
        libraries.forEach(library -> classPath.add(Path.of(library)));
        files.setLocationFromPaths(StandardLocation.CLASS_PATH, classPath);
        List<JavaFileObject> inputs = new ArrayList<>();
        files.getJavaFileObjectsFromStrings(sources).forEach(inputs::add);
        inputs.set(0, new AnyName(inputs.get(0)));
        return compilers.getTask(
                new PrintWriter(messages, true), output, null, OPTIONS, null, inputs, task -> {
                    printDiagnostics(task);
                    task.addTaskListener(new Listener(task));
                    return worker.withTask(task);
                });
    }

    /** As javac does it; a pool wants them to be collected. */
    private static void printDiagnostics(JavacTask task) {
        try {
            Field listener = Log.class.getDeclaredField("diagListener");
            listener.setAccessible(true);
            listener.set(Log.instance(((BasicJavacTask) task).getContext()), null);
        } catch (ReflectiveOperationException error) {
            throw new LinkageError("javac's log is another", error);
        }
    }

    /** Notes what was compiled. */
    private final class Listener implements TaskListener {
        private final JavacTask task;
        private Mistakes mistakes;

        Listener(JavacTask task) {
            this.task = task;
            if (facts != null) {
                mistakes = new Mistakes(Log.instance(((BasicJavacTask) task).getContext()));
            }
        }

        @Override
        public void finished(TaskEvent event) {
            if (event.getKind() == TaskEvent.Kind.PARSE) {
                units.add(event.getCompilationUnit());
            } else if (event.getKind() == TaskEvent.Kind.ANALYZE) {
                TypeElement type = event.getTypeElement();
                if (hasMain(type, task)) {
                    runnable.add(type.getQualifiedName().toString());
                }
            }
            if (facts != null) {
                try {
                    tell(event);
                } catch (Exception | Error error) {
                    System.err.println("the program can't be analysed: " + error);
                    System.exit(1);
                }
            }
        }

        private void tell(TaskEvent event) throws IOException {
            CompilationUnitTree unit = event.getCompilationUnit();
            if (event.getKind() == TaskEvent.Kind.PARSE) {
                int file = units.size() - 1;
                facts.addSource(unit.getSourceFile().getCharContent(true).toString());
                if (mistakes.told) {
                    return;
                }
                if (mistakes.first != null) {
                    mistakes.told = true;
                    facts.tell("syntax-error", file, mistakes.first.getPosition(),
                            mistakes.first.getMessage(null), "");
                } else {
                    analyse(unit, file).lookAtImports();
                }
            } else if (event.getKind() == TaskEvent.Kind.ANALYZE && !mistakes.told) {
                // Those that were in the files are there by now, and are still as they
                // were: a class is taken apart once it is generated.
                Tree tree = Trees.instance(task).getTree(event.getTypeElement());
                analyse(unit, units.indexOf(unit)).scan(tree, null);
            }
        }

        private Analyse analyse(CompilationUnitTree unit, int file) {
            return new Analyse(facts, Trees.instance(task), unit, file, ownClasses());
        }
    }

    /** Keeps the first mistake that is found before all files have been read. */
    private static final class Mistakes extends Log.DiagnosticHandler {
        private JCDiagnostic first;
        private boolean told;

        Mistakes(Log log) {
            install(log);
        }

        @Override
        public void report(JCDiagnostic diagnostic) {
            if (first == null && diagnostic.getKind() == Diagnostic.Kind.ERROR) {
                first = diagnostic;
            }
            prev.report(diagnostic);
        }
    }

    private Set<String> ownClasses() {
        Set<String> names = new HashSet<>();
        for (CompilationUnitTree unit : units) {
            String prefix = unit.getPackageName() == null ? "" : unit.getPackageName() + ".";
            for (Tree declaration : unit.getTypeDecls()) {
                if (declaration instanceof ClassTree type) {
                    names.add(prefix + type.getSimpleName());
                }
            }
        }
        return names;
    }

    private static boolean hasMain(TypeElement type, JavacTask task) {
        List<? extends Element> members = task.getElements().getAllMembers(type);
        for (ExecutableElement method : ElementFilter.methodsIn(members)) {
            if (method.getSimpleName().contentEquals("main")
                    && method.getModifiers().containsAll(Set.of(Modifier.PUBLIC, Modifier.STATIC))
                    && method.getReturnType().getKind() == TypeKind.VOID
                    && method.getParameters().size() == 1
                    && method.getParameters().get(0).asType().toString().equals("java.lang.String[]")) {
                return true;
            }
        }
        return false;
    }

    private String mainClass() {
        for (CompilationUnitTree unit : units) {
            String prefix = unit.getPackageName() == null ? "" : unit.getPackageName() + ".";
            String first = null;
            for (Tree declaration : unit.getTypeDecls()) {
                if (!(declaration instanceof ClassTree type)
                        || !runnable.contains(prefix + type.getSimpleName())) {
                    continue;
                }
                if (type.getModifiers().getFlags().contains(Modifier.PUBLIC)) {
                    return prefix + type.getSimpleName();
                }
                if (first == null) {
                    first = prefix + type.getSimpleName();
                }
            }
            if (first != null) {
                return first;
            }
        }
        return null;
    }

    /** Stores without compressing: the jar is read once, a moment later. */
    private void writeJar(String main, OutputStream output) throws IOException {
        Manifest manifest = new Manifest();
        Attributes attributes = manifest.getMainAttributes();
        attributes.put(Attributes.Name.MANIFEST_VERSION, "1.0");
        attributes.put(Attributes.Name.MAIN_CLASS, main);
        attributes.put(Attributes.Name.CLASS_PATH, classPathOfJar());
        ByteArrayOutputStream description = new ByteArrayOutputStream();
        manifest.write(description);
        try (ZipOutputStream jar = new ZipOutputStream(output)) {
            jar.setMethod(ZipOutputStream.STORED);
            store(jar, JarFile.MANIFEST_NAME, description.toByteArray());
            for (Map.Entry<String, ByteArrayOutputStream> file : classes.entrySet()) {
                store(jar, file.getKey(), file.getValue().toByteArray());
            }
        }
    }

    private static void store(ZipOutputStream jar, String name, byte[] bytes) throws IOException {
        CRC32 checksum = new CRC32();
        checksum.update(bytes);
        ZipEntry entry = new ZipEntry(name);
        entry.setSize(bytes.length);
        entry.setCrc(checksum.getValue());
        jar.putNextEntry(entry);
        jar.write(bytes);
        jar.closeEntry();
    }

    /** Where classes are looked for: the working directory, the jars in it, those of libraries. */
    private static List<String> libraries() {
        List<String> found = new ArrayList<>(List.of("."));
        addJars(Path.of("."), found);
        found.remove(JAR);
        addJars(INSTALLED, found);
        return found;
    }

    /** Those of one directory, which need not be there, in the order of their names. */
    private static void addJars(Path directory, List<String> found) {
        List<String> names = new ArrayList<>();
        try (DirectoryStream<Path> jars = Files.newDirectoryStream(directory, "*.jar")) {
            for (Path jar : jars) {
                names.add(jar.normalize().toString());
            }
        } catch (NoSuchFileException error) {
            return;
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        Collections.sort(names);
        found.addAll(names);
    }

    /** The same for the jar's manifest, which wants URLs relative to the jar, parted by spaces. */
    private String classPathOfJar() {
        List<String> urls = new ArrayList<>();
        for (String library : libraries) {
            urls.add(library.equals(".") ? "./" : fileName(library).getRawPath());
        }
        return String.join(" ", urls);
    }

    private static URI fileName(String name) {
        try {
            return new URI(null, null, name, null);
        } catch (URISyntaxException error) {
            throw new IllegalArgumentException(error);
        }
    }

    /** A source file whose public class may have any name, whatever the file is called. */
    private static final class AnyName extends ForwardingJavaFileObject<JavaFileObject> {
        AnyName(JavaFileObject file) {
            super(file);
        }

        @Override
        public boolean isNameCompatible(String simpleName, Kind kind) {
            return kind == Kind.SOURCE || super.isNameCompatible(simpleName, kind);
        }
    }

    /** Keeps compiled classes in memory. */
    private final class Output extends ForwardingJavaFileManager<JavaFileManager> {
        Output(JavaFileManager files) {
            super(files);
        }

        @Override
        public JavaFileObject getJavaFileForOutput(
                Location location, String className, JavaFileObject.Kind kind, FileObject sibling) {
            String name = className.replace('.', '/') + kind.extension;
            return new SimpleJavaFileObject(URI.create("memory:///" + name), kind) {
                @Override
                public OutputStream openOutputStream() {
                    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                    classes.put(name, bytes);
                    return bytes;
                }
            };
        }
    }
}
