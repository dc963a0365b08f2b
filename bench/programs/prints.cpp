#include <iostream>

int main() {
  std::cout << "run 0" << std::endl;
  for (int i = 0; i < 20000; ++i) std::cout << i << std::endl;
}
