#include <iostream>

int main() {
  std::map<int, const char*> names = {{1, "one"}, {2, "two"}};
  std::cout << names.at(2) << '\n';
}
