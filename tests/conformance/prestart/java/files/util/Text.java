package util;
public class Text {
    public static String shout(String text) {
        return text.toUpperCase() + "!";
    }
}
