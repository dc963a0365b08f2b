import demo.Adder;

public class Main {
    public static void main(String[] args) {
        System.out.println("sum: " + Adder.addAll(Numbers.LIST));
    }
}
