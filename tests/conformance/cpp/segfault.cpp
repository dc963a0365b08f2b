#include <iostream>

int main() {
  std::cout << "before" << std::endl;
  volatile int* nowhere = nullptr;
  *nowhere = 42;
  std::cout << "after" << std::endl;
}
