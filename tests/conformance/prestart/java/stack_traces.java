import java.util.*;
import java.util.stream.*;

public class Main {
    public static void main(String[] args) throws Exception {
        System.out.println(Arrays.toString(Thread.currentThread().getStackTrace()));
        new Throwable("here").printStackTrace();
        StackWalker walker = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
        List<StackWalker.StackFrame> frames = walker.walk(s -> s.collect(Collectors.toList()));
        System.out.println(frames);
        try {
            System.out.println(walker.getCallerClass());
        } catch (IllegalCallerException error) {
            System.out.println(error.getMessage());
        }
        Runnable lambda = () -> System.out.println(new Throwable().getStackTrace().length);
        lambda.run();
        List.of(1).forEach(i -> { throw new RuntimeException("in a lambda"); });
    }
}
