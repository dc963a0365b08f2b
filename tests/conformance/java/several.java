interface Shape {
    double area();
}

class Program {
    public static void main(String[] args) {
        for (Shape shape : new Shape[] {new Square(3), new Rectangle(2, 5)}) {
            System.out.println(shape.getClass().getSimpleName() + " " + shape.area());
        }
    }
}

class Square extends Rectangle {
    Square(double side) {
        super(side, side);
    }
}

class Rectangle implements Shape {
    private final double width;
    private final double height;

    Rectangle(double width, double height) {
        this.width = width;
        this.height = height;
    }

    @Override
    public double area() {
        return width * height;
    }
}
