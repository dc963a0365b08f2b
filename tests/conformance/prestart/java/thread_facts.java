public class Main {
    public static void main(String[] args) throws Exception {
        Thread main = Thread.currentThread();
        System.out.println(main + " " + main.getId() + " " + main.getPriority() + " " + main.isDaemon());
        System.out.println(main.getThreadGroup().getParent() + " " + Thread.activeCount());
        System.out.println(main.getContextClassLoader() == Main.class.getClassLoader());
        System.out.println(Runtime.getRuntime().availableProcessors() + " " + Runtime.getRuntime().maxMemory());
    }
}
