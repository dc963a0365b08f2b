package sandglass;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import jdk.internal.access.SharedSecrets;
import jdk.jshell.DeclarationSnippet;
import jdk.jshell.Diag;
import jdk.jshell.EvalException;
import jdk.jshell.JShell;
import jdk.jshell.JShellException;
import jdk.jshell.Snippet;
import jdk.jshell.SnippetEvent;
import jdk.jshell.SourceCodeAnalysis;
import jdk.jshell.SourceCodeAnalysis.CompletionInfo;
import jdk.jshell.TypeDeclSnippet;
import jdk.jshell.UnresolvedReferenceException;
import jdk.jshell.execution.LocalExecutionControlProvider;
import sun.misc.Signal;

/**
 * The Java kernel: runs cells one after another by JShell in this process, so that what they
 * leave stays. Its arguments are the descriptors of commands and events. A command is a line
 *
 * <pre>run ID CODE_BYTES INPUT_BYTES ARGUMENT_BYTES [last]</pre>
 *
 * and right behind it the code and, in base64, the cell's standard input and its arguments, each
 * with a NUL at its end. After the last cell the JVM ends as after a main method: its threads go on
 * to their ends.
 */
public final class Kernel {
  private static final int MOST_TEXT = 256 * 1024;
  private static final int MOST_RESULT = 8 << 20;
  private static final int INTERRUPTED = 130;
  // As the jshell tool has it.
  private static final String[] IMPORTS = {
    "java.io.*", "java.math.*", "java.net.*", "java.nio.file.*", "java.util.*",
    "java.util.concurrent.*", "java.util.function.*", "java.util.regex.*", "java.util.stream.*",
  };
  private static final Pattern MAIN =
      Pattern.compile(
          "(public\\s+static|static\\s+public)\\s+(final\\s+)?void\\s+main\\s*\\("
              + "\\s*(final\\s+)?String");
  // Of a whole file, before all else but comments. JShell's classes are in a package of its own.
  private static final Pattern PACKAGE =
      Pattern.compile("((?:\\s++|//.*+|/\\*(?s:.*?)\\*/)*+)package\\s+[\\w.\\s]+;");

  private final FileOutputStream events;
  private final JShell shell;
  private final SourceCodeAnalysis analysis;
  private final Object lock = new Object();
  private boolean busy; // guarded by lock
  private boolean interrupted; // guarded by lock
  private PrintStream out = printer(FileDescriptor.out);
  private PrintStream err = printer(FileDescriptor.err);
  private String[] arguments = {}; // of a main method
  private long id;
  private int count;

  private Kernel(FileOutputStream events) {
    this.events = events;
    shell =
        JShell.builder().executionEngine(new LocalExecutionControlProvider(), Map.of()).build();
    analysis = shell.sourceCodeAnalysis();
    for (String name : IMPORTS) shell.eval("import " + name + ";");
    System.setOut(out);
    System.setErr(err);
  }

  /**
   * The group of what cells start. JShell makes its own group below it, with a handler that says
   * nothing of an error that ends a thread.
   */
  private static final class Cells extends ThreadGroup {
    Cells() {
      super("cells");
    }

    <T> T call(Callable<T> work) throws Exception {
      FutureTask<T> task = new FutureTask<>(work);
      new Thread(this, task, "main").start();
      return task.get();
    }

    @Override
    public void uncaughtException(Thread thread, Throwable error) {
      Thread.UncaughtExceptionHandler handler = Thread.getDefaultUncaughtExceptionHandler();
      if (handler != null && !handler.getClass().getName().startsWith("jdk.jshell.")) {
        handler.uncaughtException(thread, error);
      } else if (!(error instanceof ThreadDeath)) {
        System.err.print("Exception in thread \"" + thread.getName() + "\" ");
        error.printStackTrace();
      }
    }
  }

  public static void main(String[] args) throws Exception {
    if (args[0].equals("--rehearse")) {
      rehearse();
      return;
    }
    Kernel kernel = new Kernel(new FileOutputStream(descriptor(args[1])));
    Signal.handle(new Signal("INT"), signal -> kernel.interrupt());
    kernel.send("{\"ev\":\"ready\",\"pid\":" + ProcessHandle.current().pid() + "}");
    DataInputStream commands =
        new DataInputStream(new BufferedInputStream(new FileInputStream(descriptor(args[0]))));
    int exitCode = new Cells().call(() -> kernel.serve(commands));
    if (exitCode < 0) System.exit(0);
    if (exitCode == INTERRUPTED) System.exit(INTERRUPTED);
    if (exitCode == 0) return;
    // The launcher waits for the threads, and its exit code is 1 then.
    Thread.currentThread().setUncaughtExceptionHandler((thread, told) -> {});
    throw new IllegalStateException();
  }

  /** What it loads, for whoever makes an archive of it. */
  private static void rehearse() throws IOException {
    Kernel kernel = new Kernel(new FileOutputStream(descriptor("1")));
    String code = "int x = 20; int f(int n) { return n + 1; } class A {}\nf(x)\nnope\n1 / 0";
    kernel.run(code, new byte[0], false);
    code = "System.out.println(\"a\"); throw new IllegalStateException();";
    kernel.run(code, new byte[0], false);
  }

  private static FileDescriptor descriptor(String number) {
    FileDescriptor descriptor = new FileDescriptor();
    SharedSecrets.getJavaIOFileDescriptorAccess().set(descriptor, Integer.parseInt(number));
    return descriptor;
  }

  private static PrintStream printer(FileDescriptor descriptor) {
    return new PrintStream(
        new BufferedOutputStream(new FileOutputStream(descriptor), 128),
        true,
        StandardCharsets.UTF_8);
  }

  /**
   * A thread that is stopped within a print leaves what it had encoded in the stream, which would
   * come out with the next cell's first line. A stream of the cell's own making stays.
   */
  private void renewPrinters() {
    PrintStream oldOut = out;
    PrintStream oldErr = err;
    out = printer(FileDescriptor.out);
    err = printer(FileDescriptor.err);
    if (System.out == oldOut) System.setOut(out);
    if (System.err == oldErr) System.setErr(err);
  }

  /** The exit code of the last cell, -1 when none came. */
  private int serve(DataInputStream commands) throws IOException {
    for (String line = readLine(commands); line != null; line = readLine(commands)) {
      String[] words = line.split(" ");
      if (!words[0].equals("run")) continue;
      id = Long.parseLong(words[1]);
      byte[] code = new byte[Integer.parseInt(words[2])];
      commands.readFully(code);
      byte[] input = new byte[Integer.parseInt(words[3])];
      commands.readFully(input);
      byte[] given = new byte[Integer.parseInt(words[4])];
      commands.readFully(given);
      if (given.length > 0) {
        given = Base64.getDecoder().decode(given);
        String all = new String(given, 0, given.length - 1, StandardCharsets.UTF_8);
        arguments = all.split("\0", -1);
      }
      boolean isLast = words.length > 5;
      int exitCode =
          run(new String(code, StandardCharsets.UTF_8), Base64.getDecoder().decode(input), isLast);
      if (isLast) return exitCode;
    }
    return -1;
  }

  private static String readLine(DataInputStream from) throws IOException {
    StringBuilder line = new StringBuilder();
    for (int c = from.read(); c != '\n'; c = from.read()) {
      if (c < 0) return null;
      line.append((char) c);
    }
    return line.toString();
  }

  private void interrupt() {
    synchronized (lock) {
      if (!busy) return;
      interrupted = true;
    }
    shell.stop();
  }

  private boolean isInterrupted() {
    synchronized (lock) {
      return interrupted;
    }
  }

  // One cell.

  private int run(String code, byte[] input, boolean isLast) throws IOException {
    ++count;
    System.setIn(new ByteArrayInputStream(input));
    synchronized (lock) {
      busy = true;
      interrupted = false;
    }
    int exitCode = 1;
    try {
      exitCode = evaluate(code);
    } catch (RuntimeException | StackOverflowError problem) {
      // JShell's own.
      tellError(problem.getClass().getName(), String.valueOf(problem.getMessage()), problem + "\n");
    }
    System.out.flush();
    System.err.flush();
    synchronized (lock) {
      busy = false;
    }
    if (isInterrupted()) {
      renewPrinters();
      exitCode = INTERRUPTED;
      tellError("Interrupt", "", "Interrupt\n");
    }
    if (isLast) return exitCode;
    String status = exitCode == 0 ? "ok" : exitCode == INTERRUPTED ? "interrupted" : "error";
    send(
        "{\"ev\":\"done\",\"id\":" + id + ",\"status\":\"" + status + "\",\"exit_code\":" + exitCode
            + ",\"count\":" + count + "}");
    return exitCode;
  }

  /** The exit code. */
  private int evaluate(String code) throws IOException {
    List<Snippet> snippets = new ArrayList<>();
    SnippetEvent last = null;
    Matcher named = PACKAGE.matcher(code);
    String rest = named.lookingAt() ? named.group(1) + code.substring(named.end()) : code;
    while (!rest.isBlank() && !isInterrupted()) {
      CompletionInfo info = analysis.analyzeCompletion(rest);
      String source = info.source() == null ? rest : info.source();
      rest = info.source() == null ? "" : info.remaining();
      last = null;
      for (SnippetEvent event : shell.eval(source)) {
        if (event.causeSnippet() != null) continue; // what it changes of others
        if (!isFine(event)) return 1;
        snippets.add(event.snippet());
        last = event;
      }
    }
    if (isInterrupted()) return INTERRUPTED;
    if (last != null && isExpression(last.snippet())) showValue(last);
    return callMain(snippets);
  }

  /** Classes alone are a program; its class is the one with a main method. */
  private int callMain(List<Snippet> snippets) throws IOException {
    String name = null;
    for (Snippet snippet : snippets) {
      if (snippet.kind() == Snippet.Kind.IMPORT) continue;
      if (!(snippet instanceof TypeDeclSnippet)) return 0;
      if (MAIN.matcher(snippet.source()).find()) name = ((TypeDeclSnippet) snippet).name();
    }
    if (name == null) return 0;
    Set<Thread> before = Thread.getAllStackTraces().keySet();
    for (SnippetEvent event : shell.eval(name + ".main(" + argumentsInJava() + ");")) {
      if (event.causeSnippet() == null && !isFine(event)) return 1;
    }
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (!before.contains(thread) && !thread.isDaemon()) await(thread);
    }
    return isInterrupted() ? INTERRUPTED : 0;
  }

  private String argumentsInJava() {
    StringBuilder text = new StringBuilder("new String[] {");
    for (String argument : arguments) {
      text.append('"');
      for (char c : argument.toCharArray()) {
        text.append(c < ' ' || c == '"' || c == '\\' ? String.format("\\%03o", (int) c) : c);
      }
      text.append("\",");
    }
    return text.append('}').toString();
  }

  /** A program goes on as long as its threads do. */
  private void await(Thread thread) {
    try {
      while (thread.isAlive() && !isInterrupted()) thread.join(50);
    } catch (InterruptedException interruption) {
      Thread.currentThread().interrupt();
    }
  }

  private static boolean isExpression(Snippet snippet) {
    return snippet.kind() == Snippet.Kind.EXPRESSION
        || snippet.subKind() == Snippet.SubKind.TEMP_VAR_EXPRESSION_SUBKIND;
  }

  private void showValue(SnippetEvent event) throws IOException {
    String value = event.value();
    if (value == null || value.isEmpty() || value.equals("null")) return;
    if (value.length() > MOST_RESULT / 3) {
      send("{\"ev\":\"dropped\",\"id\":" + id + ",\"count\":1,\"bytes\":" + value.length() + "}");
      return;
    }
    send(
        "{\"ev\":\"display\",\"id\":" + id + ",\"kind\":\"result\",\"data\":{\"text/plain\":"
            + quote(value) + "},\"metadata\":{}}");
  }

  /** Tells what is wrong with it. */
  private boolean isFine(SnippetEvent event) throws IOException {
    Snippet snippet = event.snippet();
    if (event.status() == Snippet.Status.REJECTED) {
      StringBuilder text = new StringBuilder();
      String first = null;
      for (Diag diag : (Iterable<Diag>) shell.diagnostics(snippet)::iterator) {
        if (!diag.isError()) continue;
        if (first == null) first = diag.getMessage(null);
        describe(diag, snippet.source(), text);
      }
      tellError("CompileError", String.valueOf(first), text.toString());
      return false;
    }
    JShellException problem = event.exception();
    if (problem == null) return true;
    if (isInterrupted()) return false;
    if (problem instanceof UnresolvedReferenceException) {
      DeclarationSnippet unresolved = ((UnresolvedReferenceException) problem).getSnippet();
      String missing =
          shell.unresolvedDependencies(unresolved).collect(Collectors.joining(", "));
      String text = "it uses what is not defined: " + missing;
      tellError("UnresolvedReferenceException", text, text + "\n");
    } else {
      EvalException error = (EvalException) problem;
      tellError(error.getExceptionClassName(), messageOf(error), traceOf(error));
    }
    return false;
  }

  private static void describe(Diag diag, String source, StringBuilder text) {
    int at = (int) Math.max(0, Math.min(diag.getPosition(), source.length()));
    int begin = source.lastIndexOf('\n', at - 1) + 1;
    int end = source.indexOf('\n', at);
    String line = source.substring(begin, end < 0 ? source.length() : end);
    text.append("error: ").append(diag.getMessage(null)).append('\n');
    text.append(line).append('\n').append(" ".repeat(at - begin)).append("^\n");
  }

  private static String messageOf(EvalException error) {
    return error.getMessage() == null ? "" : error.getMessage();
  }

  private static String traceOf(EvalException error) {
    StringBuilder text = new StringBuilder(error.getExceptionClassName());
    if (error.getMessage() != null) text.append(": ").append(error.getMessage());
    text.append('\n');
    for (StackTraceElement frame : error.getStackTrace()) {
      if (text.length() > MOST_TEXT / 2) break;
      text.append("\tat ");
      if (!frame.getClassName().isEmpty()) text.append(frame.getClassName()).append('.');
      text.append(frame.getMethodName().isEmpty() ? "cell" : frame.getMethodName());
      text.append(" (").append(frame.getFileName()).append(':').append(frame.getLineNumber());
      text.append(")\n");
    }
    if (error.getCause() instanceof EvalException) {
      text.append("Caused by: ").append(traceOf((EvalException) error.getCause()));
    }
    return text.toString();
  }

  // Events.

  private void tellError(String name, String value, String traceback) throws IOException {
    send(
        "{\"ev\":\"error\",\"id\":" + id + ",\"name\":" + quote(name) + ",\"value\":"
            + quote(tail(value)) + ",\"traceback\":" + quote(tail(traceback)) + "}");
  }

  private void send(String event) throws IOException {
    System.out.flush();
    System.err.flush();
    events.write((event + "\n").getBytes(StandardCharsets.UTF_8));
  }

  private static String tail(String text) {
    return text.length() <= MOST_TEXT ? text : text.substring(text.length() - MOST_TEXT);
  }

  private static String quote(String text) {
    StringBuilder quoted = new StringBuilder("\"");
    for (int i = 0; i < text.length(); ++i) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        quoted.append('\\').append(c);
      } else if (c < ' ') {
        quoted.append(String.format("\\u%04x", (int) c));
      } else {
        quoted.append(c);
      }
    }
    return quoted.append('"').toString();
  }
}
