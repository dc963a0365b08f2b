import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What an analyser tells: facts, as docs/analysers.md has them. */
final class Facts {
    private static final int MOST_FACTS = 4096;
    private static final int MOST_BYTES = 256 * 1024;
    private static final int MOST_TEXT = 200;
    private static final int LAST_LINE_BYTES = 16;

    private record Key(String kind, String name, String detail) {}

    private static final class Fact {
        int file;
        int place;
        int count;
    }

    private final Map<Key, Fact> facts = new LinkedHashMap<>();
    private final List<String> sources = new ArrayList<>();

    /** Names a file, by its number from 0 on. */
    void addSource(String text) {
        sources.add(text);
    }

    /** {@code place} is an offset in the file, in UTF-16 units. */
    void tell(String kind, int file, long place, String name, String detail) {
        Key key = new Key(kind, clean(name), clean(detail));
        Fact fact = facts.computeIfAbsent(key, unknown -> new Fact());
        int at = (int) Math.max(0, place);
        if (fact.count++ == 0 || file < fact.file || file == fact.file && at < fact.place) {
            fact.file = file;
            fact.place = at;
        }
    }

    /** Without control characters, and cut at a character. */
    private static String clean(String text) {
        StringBuilder clean = new StringBuilder();
        int bytes = 0;
        for (int i = 0; i < text.length();) {
            int character = text.codePointAt(i);
            i += Character.charCount(character);
            boolean none = character < ' ' || character == 0x7f
                    || character >= 0xd800 && character < 0xe000;
            character = none ? '?' : character;
            bytes += utf8Size(character);
            if (bytes > MOST_TEXT) {
                break;
            }
            clean.appendCodePoint(character);
        }
        return clean.toString();
    }

    private static int utf8Size(int character) {
        return character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    }

    byte[] text() {
        List<Map.Entry<Key, Fact>> all = new ArrayList<>(facts.entrySet());
        all.sort(Comparator.comparingInt((Map.Entry<Key, Fact> one) -> one.getValue().file)
                .thenComparingInt(one -> one.getValue().place));
        StringBuilder text = new StringBuilder("sandglass-facts 1\n");
        int bytes = text.length();
        int told = 0;
        Cursor at = null;
        for (Map.Entry<Key, Fact> one : all) {
            Fact fact = one.getValue();
            if (at == null || at.file != fact.file) {
                at = new Cursor(fact.file);
            }
            at.moveTo(fact.place);
            Key key = one.getKey();
            String line = key.kind + "\t" + fact.file + "\t" + at.line + "\t" + at.column + "\t"
                    + fact.count + "\t" + key.name + "\t" + key.detail + "\n";
            bytes += line.getBytes(UTF_8).length;
            if (told++ == MOST_FACTS || bytes > MOST_BYTES - LAST_LINE_BYTES) {
                return text.append("overflow\n").toString().getBytes(UTF_8);
            }
            text.append(line);
        }
        return text.append("end\n").toString().getBytes(UTF_8);
    }

    /** Goes forward over a text and knows where it is. */
    private final class Cursor {
        final int file;
        private final String source;
        private int offset;
        int line = 1;
        int column = 1;

        Cursor(int file) {
            this.file = file;
            source = sources.get(file);
        }

        void moveTo(int place) {
            int end = Math.min(place, source.length());
            while (offset < end) {
                int character = source.codePointAt(offset);
                boolean pair = character == '\r' && offset + 1 < source.length()
                        && source.charAt(offset + 1) == '\n';
                offset += pair ? 2 : Character.charCount(character);
                if (character == '\n' || character == '\r') {
                    line++;
                    column = 1;
                } else {
                    column += utf8Size(character);
                }
            }
        }
    }
}
