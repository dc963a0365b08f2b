import java.lang.reflect.*;

public class Main {
    public static void main(String[] args) throws Exception {
        for (String[] each : new String[][] {{"java.lang.String", "value"}, {"java.util.ArrayList", "size"},
                {"java.lang.System", "props"}, {"jdk.internal.misc.Unsafe", "theUnsafe"}, {"sun.misc.Unsafe", "theUnsafe"},
                {"jdk.internal.vm.annotation.Hidden", "x"}, {"java.lang.invoke.MethodHandles$Lookup", "IMPL_LOOKUP"}}) {
            try {
                Field field = Class.forName(each[0]).getDeclaredField(each[1]);
                field.setAccessible(true);
                System.out.println("opened " + field);
            } catch (Throwable error) {
                System.out.println(error);
            }
        }
        Module base = Object.class.getModule();
        Module mine = Main.class.getModule();
        for (String name : base.getPackages().stream().sorted().toArray(String[]::new)) {
            if (base.isExported(name, mine) || base.isOpen(name, mine))
                System.out.println(name + " " + base.isExported(name) + " " + base.isOpen(name, mine));
        }
    }
}
