#include <iostream>

int main() {
  std::ios::sync_with_stdio(false);
  for (int n = 0; n < 200'000; ++n) {
    std::cout << "line " << n << '\n';
  }
}
