import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.TemporalAdjusters;
import java.util.ArrayDeque;
import java.util.Base64;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

public class Main {
    private record City(String name, int population) {}

    private static void print(String label, Object value) {
        System.out.println(label + ": " + value);
    }

    private static void collections() {
        var cities = List.of(
                new City("Zürich", 443), new City("Bern", 137), new City("Aarau", 22));
        print("sorted", cities.stream().map(City::name).sorted().toList());
        print("max", cities.stream().max(Comparator.comparingInt(City::population)));
        print("statistics", cities.stream()
                .mapToInt(City::population).summaryStatistics());

        Map<String, Long> counts = Stream.of("the fox and the dog and the cat".split(" "))
                .collect(Collectors.groupingBy(
                        Function.identity(), TreeMap::new, Collectors.counting()));
        print("counts", counts);

        var queue = new PriorityQueue<>(List.of(5, 1, 4));
        var stack = new ArrayDeque<Integer>();
        while (!queue.isEmpty()) {
            stack.push(queue.poll());
        }
        print("stack", stack);

        var primes = new BitSet();
        primes.set(2, 50);
        for (int n = 2; n < 8; n++) {
            for (int multiple = n * n; multiple < 50; multiple += n) {
                primes.clear(multiple);
            }
        }
        print("primes", primes);
        print("parallel", IntStream.rangeClosed(1, 1000).parallel().sum());
    }

    private static void texts() {
        var matcher = Pattern.compile("(?<user>\\w+)@(\\w+)\\.org").matcher("bob@two.org");
        print("regex", matcher.matches() ? matcher.group("user") : "none");
        print("replace", Pattern.compile("\\d+").matcher("a1 b20 c300")
                .replaceAll(match -> "" + Integer.parseInt(match.group()) * 2));
        print("format", String.format(Locale.ROOT, "%04x|%-6s|%,.2f|%+d|%5.1f%%",
                255, "left", 1234567.891, -5, 25.6));
        print("text", " a,b ,c ".strip().replace(",", ";").repeat(2));
        print("joined", Stream.of("x", "y").collect(Collectors.joining(", ", "<", ">")));
        print("optional", Optional.of("value").map(String::length).orElse(0));
    }

    private static void times() {
        var leapDay = LocalDate.of(2024, 2, 29);
        print("date", leapDay.format(
                DateTimeFormatter.ofPattern("EEEE d MMMM uuuu", Locale.ENGLISH)));
        print("later", leapDay.plusYears(1).with(
                TemporalAdjusters.next(DayOfWeek.MONDAY)));
        print("zone", LocalDateTime.of(2024, 7, 1, 12, 30).atZone(ZoneOffset.UTC)
                .withZoneSameInstant(ZoneId.of("Europe/Berlin")));
        print("duration", Duration.ofSeconds(5025));
    }

    private static void numbers() {
        print("math", Math.hypot(3, 4) + " " + Math.floorMod(-7, 3));
        print("big", BigInteger.TWO.pow(200));
        print("prime", new BigInteger("1000000007").isProbablePrime(20));
        print("decimal", new BigDecimal("10").divide(
                new BigDecimal("3"), 20, RoundingMode.HALF_UP));
        var random = new Random(42);
        print("random", IntStream.generate(() -> random.nextInt(100)).limit(5)
                .boxed().toList());
        print("bits", Integer.toBinaryString(42) + " " + Long.bitCount(255));
    }

    private static void digests() throws NoSuchAlgorithmException {
        print("base64", Base64.getEncoder().encodeToString(
                "Grüße".getBytes(StandardCharsets.UTF_8)));
        print("sha256", HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256")
                .digest("sandglass".getBytes(StandardCharsets.UTF_8))));
    }

    private static void concurrency() {
        var squares = new ConcurrentHashMap<Integer, Integer>();
        var futures = IntStream.range(0, 5)
                .mapToObj(n -> CompletableFuture.runAsync(() -> squares.put(n, n * n)))
                .toArray(CompletableFuture[]::new);
        CompletableFuture.allOf(futures).join();
        print("futures", new TreeMap<>(squares));
    }

    public static void main(String[] args) throws NoSuchAlgorithmException {
        collections();
        texts();
        times();
        numbers();
        digests();
        concurrency();
    }
}
