#include <algorithm>
#include <iostream>
#include <string>

int main() {
  int count = 0;
  for (std::string line; std::getline(std::cin, line); ++count) {
    // Every byte but UTF-8's continuation bytes starts a character.
    const auto is_start = [](unsigned char c) { return (c & 0xC0) != 0x80; };
    std::cout << std::ranges::count_if(line, is_start) << '\n';
  }
  std::cout << "lines: " << count << '\n';
}
