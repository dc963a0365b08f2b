package sandglass;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.StringReader;
import java.io.BufferedReader;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import jdk.internal.vm.annotation.Hidden;

/**
 * Waits in a JVM that has started for a program in main.jar, then runs it as "java -jar main.jar"
 * would. The boot class loader has this class and the application's has main.jar, which it looks
 * for when it is first asked for a class: the program's classes are where they always are. Frames
 * of methods that are marked as hidden are in no stack trace.
 */
final class Launch {
    private static final String JAR = "main.jar";

    private Launch() {}

    @Hidden
    public static void main(String[] none) throws Throwable {
        rehearse();
        String[] arguments = awaitJob();
        program().invokeExact(arguments);
    }

    /** Says that it waits, and takes what it is told (sandbox/jail/job_frame.h). */
    private static String[] awaitJob() throws IOException {
        // Neither is closed, since the program's streams have the same descriptors; no byte is read
        // that is the program's.
        new FileOutputStream(FileDescriptor.out).write("sandglass: waiting\n".getBytes(StandardCharsets.US_ASCII));
        FileInputStream input = new FileInputStream(FileDescriptor.in);
        int first = input.read();
        if (first < 0) {
            // The jail is nobody's any more.
            Runtime.getRuntime().halt(0);
        }
        DataInputStream data = new DataInputStream(input);
        int size = first << 24 | data.readUnsignedByte() << 16 | data.readUnsignedShort();
        byte[] job = new byte[size];
        data.readFully(job);
        String[] words = new String(job, StandardCharsets.UTF_8).split("\0", -1);
        String[] arguments = Arrays.copyOfRange(words, 1, 1 + Integer.parseInt(words[0]));
        String command = JAR;
        for (String argument : arguments) {
            command += " " + argument;
        }
        System.setProperty("sun.java.command", command);
        return arguments;
    }

    /** The program's main method, of a class that is initialized. */
    @Hidden
    private static MethodHandle program() throws Throwable {
        String name;
        try (JarFile jar = new JarFile(JAR)) {
            name = jar.getManifest().getMainAttributes().getValue("Main-Class").trim();
        }
        Class<?> type = null;
        try {
            type = Class.forName(name, false, ClassLoader.getSystemClassLoader());
        } catch (ClassNotFoundException | LinkageError error) {
            // As the JDK's launcher says it.
            System.err.println("Error: "
                    + (error instanceof LinkageError
                                    ? "LinkageError occurred while loading main class " + name
                                    : "Could not find or load main class " + name + "\nCaused by: " + error));
            if (error instanceof LinkageError) {
                System.err.println("\t" + error);
            }
            System.exit(1);
        }
        try {
            Method main = type.getMethod("main", String[].class);
            // The class need not be public.
            main.setAccessible(true);
            MethodHandle handle = MethodHandles.lookup().unreflect(main);
            // Before the call, which would leave more frames in an error's trace.
            Class.forName(name, true, ClassLoader.getSystemClassLoader());
            return handle;
        } catch (Throwable error) {
            withoutOurs(error);
            throw error;
        }
    }

    /** Takes the lowest frames, those of this class's calls, off the traces of an error. */
    private static void withoutOurs(Throwable error) {
        for (Throwable each = error; each != null; each = each.getCause()) {
            StackTraceElement[] trace = each.getStackTrace();
            int length = trace.length;
            while (length > 0 && isOurs(trace[length - 1])) {
                length--;
            }
            each.setStackTrace(Arrays.copyOf(trace, length));
        }
    }

    private static boolean isOurs(StackTraceElement frame) {
        return frame.getClassName().equals("sandglass.Launch")
                || frame.getClassName().equals("java.lang.Class");
    }

    /** Uses what most programs use, so that it is loaded and linked; writes nothing. */
    private static void rehearse() throws Throwable {
        ByteArrayOutputStream sink = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(sink, true, "UTF-8");
        for (int round = 0; round < 3; round++) {
            out.println("text " + round + ' ' + 1.5 + true);
            out.printf("%d %s %.2f %5d|%-5s|%x%n", round, "text", 1.5, 7, "a", 255);
            out.println(String.format("%05d %,d", round, 1_000_000));
            record Pair(String key, int value) {}
            List<Pair> pairs = new ArrayList<>();
            for (String word : "one two three two".split(" ")) {
                pairs.add(new Pair(word, word.length()));
            }
            Map<String, Integer> counts = new HashMap<>();
            pairs.forEach(pair -> counts.merge(pair.key(), 1, Integer::sum));
            out.println(pairs + " " + counts);
            out.println(pairs.stream()
                    .filter(pair -> pair.value() > 3)
                    .map(Pair::key)
                    .sorted()
                    .collect(Collectors.joining(", ")));
            out.println(IntStream.rangeClosed(1, 10).boxed().mapToInt(Integer::intValue).sum());
            out.println(pairs.stream().collect(Collectors.groupingBy(Pair::value, Collectors.counting())));
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < 100; i++) {
                text.append(i).append(',');
            }
            int[] numbers = IntStream.range(0, 50).map(i -> 50 - i).toArray();
            Arrays.sort(numbers);
            out.println(text.reverse().toString() + Arrays.toString(numbers));
            Object value = round == 0 ? (Object) "text" : Integer.valueOf(round);
            out.println(switch (round) { case 0 -> "none"; case 1 -> "one"; default -> "many"; });
            out.println(value instanceof String string ? string.strip() : value);
            try (BufferedReader reader = new BufferedReader(new StringReader("1 2\n3"));
                    Scanner scanner = new Scanner(reader)) {
                while (scanner.hasNextInt()) {
                    out.println(scanner.nextInt());
                }
            }
            try {
                throw new IllegalStateException("sample", new RuntimeException("cause"));
            } catch (IllegalStateException error) {
                error.printStackTrace(out);
            }
            Thread thread = new Thread(() -> out.println("thread"));
            thread.start();
            thread.join();
        }
        // The way to a program's main method, too.
        Method method = Launch.class.getDeclaredMethod("nothing", String[].class);
        method.setAccessible(true);
        MethodHandles.lookup().unreflect(method).invokeExact(new String[0]);
        withoutOurs(new Error("sample"));
        System.gc();
    }

    private static void nothing(String[] arguments) {}
}
