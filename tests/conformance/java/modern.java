import java.util.List;

public class Main {
    sealed interface Expression permits Number, Sum, Product {}

    record Number(int value) implements Expression {}

    record Sum(Expression left, Expression right) implements Expression {}

    record Product(Expression left, Expression right) implements Expression {}

    enum Size { SMALL, MEDIUM, LARGE }

    static int evaluate(Expression expression) {
        if (expression instanceof Number number) {
            return number.value();
        }
        if (expression instanceof Sum sum) {
            return evaluate(sum.left()) + evaluate(sum.right());
        }
        if (expression instanceof Product product) {
            return evaluate(product.left()) * evaluate(product.right());
        }
        throw new AssertionError(expression);
    }

    static Size sizeOf(int value) {
        return switch (value / 10) {
            case 0 -> Size.SMALL;
            case 1, 2, 3 -> Size.MEDIUM;
            default -> {
                if (value < 0) {
                    throw new IllegalArgumentException("negative: " + value);
                }
                yield Size.LARGE;
            }
        };
    }

    public static void main(String[] args) {
        var tree = new Sum(new Number(2), new Product(new Number(5), new Number(8)));
        System.out.println(tree);
        System.out.println(evaluate(tree));
        for (int value : List.of(7, 15, evaluate(tree))) {
            System.out.println(value + " is " + sizeOf(value));
        }
        System.out.print("""
                {
                  "answer": %d,
                  "quote": "\\"",
                  "joined": \
                true
                }
                """.formatted(evaluate(tree)));
    }
}
