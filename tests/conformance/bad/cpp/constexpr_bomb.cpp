#include <utility>

// Just within g++'s limits for one evaluation, but there are thousands.
constexpr int Spin(int seed) {
  int turns = seed;
  for (int i = 0; i < 10; ++i) {
    for (int j = 0; j < 100'000; ++j) {
      turns = (turns + i * j) % 1009;
    }
  }
  return turns;
}

template <int... Seeds>
constexpr int SpinAll(std::integer_sequence<int, Seeds...>) {
  return (std::integral_constant<int, Spin(Seeds)>::value + ...);
}

int main() { return SpinAll(std::make_integer_sequence<int, 5000>()); }
