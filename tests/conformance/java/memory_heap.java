import java.util.ArrayList;
import java.util.List;

public class Main {
    private record Item(int id, String name, List<Integer> tags) {}

    public static void main(String[] args) {
        List<Item> items = new ArrayList<>();
        for (int id = 0; ; id++) {
            items.add(new Item(id, "item " + id, List.of(id, id + 1)));
        }
    }
}
