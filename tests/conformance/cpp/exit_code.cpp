#include <iostream>

int main() {
  std::cout << "leaving\n";
  return 7;
}
