#include <algorithm>
#include <iostream>
#include <string_view>

int main() {
  constexpr std::string_view kText = "Grüße, 世界 🌍";
  std::cout << kText << '\n';
  // Every byte but UTF-8's continuation bytes starts a code point.
  const auto is_start = [](unsigned char c) { return (c & 0xC0) != 0x80; };
  std::cout << std::ranges::count_if(kText, is_start) << '\n';
}
