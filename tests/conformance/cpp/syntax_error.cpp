#include <iostream>
int main() {
  int answer = "forty-two";
  std::cout << answer << '\n';
}
