public class Main {
    public static void main(String[] args) throws Exception {
        ClassLoader loader = Main.class.getClassLoader();
        System.out.println(loader.getClass() + " " + loader.getName() + " " + (loader == ClassLoader.getSystemClassLoader()));
        System.out.println(loader.getParent().getName() + " " + loader.getParent().getParent());
        System.out.println(Main.class.getProtectionDomain().getCodeSource() + " " + Main.class.getModule());
        System.out.println(Class.forName("Main$Inner").getDeclaredConstructor().newInstance());
        System.out.println(Class.forName("Main", false, loader) == Main.class);
        for (String name : new String[] {"missing.Name", "sun.launcher.LauncherHelper", "Compile", "Launch"}) {
            try {
                System.out.println(Class.forName(name));
            } catch (ClassNotFoundException error) {
                System.out.println("not found: " + error.getMessage());
            }
        }
        System.out.println(ModuleLayer.boot().modules().size() + " " + Object.class.getModule());
        System.out.println(Main.class.getResource("Main.class") + " " + Main.class.getResource("/META-INF/MANIFEST.MF"));
    }
    static class Inner {
        public String toString() {
            return "inner";
        }
    }
}
