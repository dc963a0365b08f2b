public class Main {
    public static int main(String[] args) {
        return 0;
    }
}
