#include <stdio.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <string>

int main() {
  FILE* pipe = popen("/bin/echo child $((6*7))", "r");
  if (pipe == nullptr) {
    perror("popen");
    return EXIT_FAILURE;
  }
  std::string output;
  std::array<char, 256> buffer;
  while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) {
    output += buffer.data();
  }
  std::cout << "got: " << output;
  return pclose(pipe) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
