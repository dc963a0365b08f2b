import java.util.*;

public class Main {
    public static void main(String[] args) throws Exception {
        Properties all = System.getProperties();
        for (String name : new TreeSet<>(all.stringPropertyNames()))
            System.out.println(name + "=" + all.getProperty(name).replace("\n", "\\n"));
    }
}
