public class Main {
    public static void main(String[] args) throws Exception {
        System.err.println("to stderr");
        System.out.print("no newline ");
        System.out.write(65);
        System.out.println(System.out.checkError() + " ü 世界 " + System.getProperty("file.encoding"));
        System.setOut(new java.io.PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), true));
        System.out.println("replaced " + java.nio.charset.Charset.defaultCharset() + java.util.Locale.getDefault());
    }
}
