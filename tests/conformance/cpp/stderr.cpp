#include <iostream>

int main() {
  std::cout << "to stdout\n";
  std::cerr << "to stderr\n";
}
