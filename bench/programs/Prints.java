public class Main {
  public static void main(String[] args) {
    System.out.println("run 0");
    for (int i = 0; i < 20000; i++) System.out.println(i);
  }
}
