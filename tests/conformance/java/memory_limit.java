import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

public class Main {
    private static final int STEP = 8 * 1024 * 1024;

    public static void main(String[] args) {
        List<byte[]> blocks = new ArrayList<>();
        while (true) {
            byte[] block = new byte[STEP];
            Arrays.fill(block, (byte) 'x');
            blocks.add(block);
        }
    }
}
