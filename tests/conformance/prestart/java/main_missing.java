public class Main {
    void run() {}
}
