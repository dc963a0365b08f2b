public class Main {
    public static void main(String[] args) throws Exception {
        record Point(int x, int y) {
            Point {
                if (x < 0) throw new IllegalArgumentException("x " + x);
            }
        }
        System.out.println(new Point(1, 2) + " " + new Point(1, 2).equals(new Point(1, 2)) + new Point(3, 4).hashCode());
        String text = """
                a block
                  with "quotes" \\
                """;
        System.out.print(text);
        Object value = 5;
        if (value instanceof Integer number && number > 3) System.out.println("pattern " + number);
        var day = 3;
        System.out.println(switch (day) { case 1, 7 -> "weekend"; default -> { yield "day " + day; } });
        new Point(-1, 0);
    }
}
