#include <array>
#include <bit>
#include <compare>
#include <concepts>
#include <coroutine>
#include <exception>
#include <iostream>
#include <numeric>
#include <ranges>
#include <source_location>
#include <span>
#include <string>
#include <vector>

namespace {

template <typename T>
concept Number = std::integral<T> || std::floating_point<T>;

template <Number T>
T Sum(std::span<const T> values) {
  return std::accumulate(values.begin(), values.end(), T{});
}

struct Version {
  int major = 0;
  int minor = 0;
  auto operator<=>(const Version&) const = default;
};

class Counter {
 public:
  struct promise_type {
    int current = 0;
    Counter get_return_object() {
      return Counter(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int value) {
      current = value;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };

  explicit Counter(std::coroutine_handle<promise_type> handle)
      : handle_(handle) {}
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  ~Counter() { handle_.destroy(); }

  int Next() {
    handle_.resume();
    return handle_.promise().current;
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

Counter CountFrom(int value) {
  for (;;) {
    co_yield value++;
  }
}

consteval int Square(int n) { return n * n; }

}  // namespace

int main() {
  constexpr std::array kValues = {1, 2, 3, 4};
  std::cout << "span: " << Sum<int>(kValues) << '\n';
  static_assert(!Number<std::string>);

  auto odd_squares = std::views::iota(1) |
                     std::views::filter([](int n) { return n % 2 == 1; }) |
                     std::views::transform([](int n) { return n * n; }) |
                     std::views::take(4);
  std::cout << "ranges:";
  for (const int square : odd_squares) {
    std::cout << ' ' << square;
  }
  std::cout << '\n';

  std::cout << "spaceship: " << (Version{1, 2} < Version{.major = 1, .minor = 3})
            << '\n';
  std::cout << "consteval: " << Square(6) << '\n';
  std::cout << "bit: " << std::popcount(255u) << ' ' << std::bit_ceil(100u)
            << '\n';

  std::vector<int> numbers = {1, 2, 3, 4, 5};
  std::erase_if(numbers, [](int n) { return n > 3; });
  std::cout << "erase_if: " << numbers.size() << '\n';
  std::cout << "starts_with: " << std::string("sandglass").starts_with("sand")
            << '\n';

  Counter counter = CountFrom(40);
  counter.Next();
  counter.Next();
  std::cout << "coroutine: " << counter.Next() << '\n';

  std::cout << "standard: " << __cplusplus / 100 << '\n';
  std::cout << "line: " << std::source_location::current().line() << '\n';
}
