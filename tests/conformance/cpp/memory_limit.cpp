#include <cstddef>
#include <string>
#include <vector>

int main() {
  constexpr std::size_t kStep = 8 * 1024 * 1024;
  std::vector<std::string> blocks;
  for (;;) {
    blocks.emplace_back(kStep, 'x');
  }
}
