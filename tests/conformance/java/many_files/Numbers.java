import java.util.List;

class Numbers {
    static final List<Integer> LIST = List.of(4, 8, 30);
}
