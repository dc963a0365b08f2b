#include <algorithm>
#include <bitset>
#include <charconv>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <numbers>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace {

struct City {
  std::string name;
  int population;
};

template <typename Range>
std::string Join(const Range& range) {
  std::ostringstream out;
  const char* separator = "";
  for (const auto& element : range) {
    out << std::exchange(separator, " ") << element;
  }
  return out.str();
}

void Containers() {
  std::vector<City> cities = {{"Zürich", 443}, {"Bern", 137}, {"Aarau", 22}};
  std::ranges::sort(cities, {}, &City::name);
  for (const auto& [name, population] : cities) {
    std::cout << "city: " << name << ' ' << population << '\n';
  }

  std::istringstream text("the quick fox and the lazy dog and the cat");
  std::map<std::string, int> counts;
  for (std::string word; text >> word;) {
    ++counts[word];
  }
  std::cout << "counts: the " << counts.at("the") << ", and " << counts["and"]
            << ", others " << counts.size() - 2 << '\n';

  std::unordered_map<int, std::string> names = {{1, "one"}, {2, "two"}};
  const auto found = names.find(2);
  std::cout << "unordered_map: " << (found != names.end() ? found->second : "-")
            << '\n';
  std::cout << "set: " << Join(std::set{3, 1, 3, 2, 1}) << '\n';

  std::priority_queue<int, std::vector<int>, std::greater<>> queue;
  for (const int n : {5, 1, 4}) {
    queue.push(n);
  }
  std::cout << "priority_queue: " << queue.top() << '\n';
  std::deque<int> deque = {2, 3};
  deque.push_front(1);
  std::cout << "deque: " << Join(deque) << '\n';
}

void Algorithms() {
  std::vector<int> numbers(10);
  std::iota(numbers.begin(), numbers.end(), 1);
  std::cout << "accumulate: "
            << std::accumulate(numbers.begin(), numbers.end(), std::int64_t{1},
                               std::multiplies<>())
            << '\n';
  std::vector<int> sums;
  std::partial_sum(numbers.begin(), numbers.end(), std::back_inserter(sums));
  std::cout << "partial_sum: " << Join(sums) << '\n';
  std::ranges::rotate(numbers, numbers.begin() + 3);
  std::cout << "rotate: " << Join(numbers) << '\n';

  std::string letters = "abc";
  int permutations = 0;
  do {
    ++permutations;
  } while (std::ranges::next_permutation(letters).found);
  std::cout << "permutations: " << permutations << '\n';
  std::cout << "gcd: " << std::gcd(84, 36) << ", lcm: " << std::lcm(4, 6)
            << '\n';
}

void Texts() {
  const std::string addresses = "ann@one.org, bob@two.org";
  const std::regex address(R"((\w+)@(\w+)\.org)");
  for (std::sregex_iterator it(addresses.begin(), addresses.end(), address), end;
       it != end; ++it) {
    std::cout << "regex: " << (*it)[1] << " at " << (*it)[2] << '\n';
  }
  std::cout << "replace: "
            << std::regex_replace("a1 b20", std::regex("[0-9]+"), "<$&>")
            << '\n';

  int value = 0;
  constexpr std::string_view kDigits = "123abc";
  std::from_chars(kDigits.data(), kDigits.data() + kDigits.size(), value);
  std::cout << "from_chars: " << value << '\n';
  std::ostringstream out;
  out << std::hex << std::setw(6) << std::setfill('0') << 255 << '|' << std::dec
      << std::fixed << std::setprecision(10) << std::numbers::pi << '|'
      << std::quoted("say \"hi\"");
  std::cout << "format: " << out.str() << '\n';
}

void Numbers() {
  std::mt19937 engine;
  engine.discard(9999);
  std::cout << "mt19937: " << engine() << '\n';
  std::minstd_rand small(42);
  std::vector<unsigned> drawn(3);
  std::ranges::generate(drawn, [&] { return small() % 100; });
  std::cout << "minstd_rand: " << Join(drawn) << '\n';

  std::cout << "math: " << std::hypot(3, 4) << ' ' << std::cbrt(27) << ' '
            << std::lerp(1.0, 2.0, 0.25) << '\n';
  std::cout << "complex: " << std::norm(std::complex<double>(3, 4)) << '\n';
  std::cout << "bitset: " << std::bitset<8>(42) << '\n';
}

void Times() {
  using namespace std::chrono;
  constexpr year_month_day kLeapDay = 2024y / February / 29;
  static_assert(kLeapDay.ok());
  const year_month_day later = sys_days(kLeapDay) + days(366);
  std::cout << "date: " << static_cast<int>(later.year()) << '-'
            << static_cast<unsigned>(later.month()) << '-'
            << static_cast<unsigned>(later.day()) << '\n';
  std::cout << "weekday: " << weekday(sys_days(kLeapDay)).iso_encoding() << '\n';
  const hh_mm_ss time(seconds(5025));
  std::cout << "time: " << time.hours().count() << "h "
            << time.minutes().count() << "m " << time.seconds().count()
            << "s\n";
}

void Vocabulary() {
  const std::variant<int, std::string> either = "text";
  std::cout << "variant: "
            << std::visit([](const auto& held) { return sizeof held > 4; },
                          either)
            << '\n';
  const std::optional<int> nothing;
  std::cout << "optional: " << nothing.value_or(-1) << '\n';
  const auto [number, name] = std::tuple(1, "one");
  std::cout << "tuple: " << number << ' ' << name << '\n';
  const std::function<int(int)> factorial = [&](int n) {
    return n < 2 ? 1 : n * factorial(n - 1);
  };
  std::cout << "function: " << factorial(10) << '\n';
  const auto shared = std::make_shared<int>(1);
  const std::weak_ptr<int> weak = shared;
  std::cout << "shared_ptr: " << weak.use_count() << '\n';
  auto answer = std::async(std::launch::async, [] { return 42; });
  std::cout << "future: " << answer.get() << '\n';
}

}  // namespace

int main() {
  Containers();
  Algorithms();
  Texts();
  Numbers();
  Times();
  Vocabulary();
}
