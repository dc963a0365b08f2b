#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

int main() {
  std::ostringstream text;
  text << std::ifstream("input.txt").rdbuf();
  std::string upper = text.str();
  std::ranges::transform(upper, upper.begin(), [](char c) {
    return 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });

  std::filesystem::create_directories("out");
  std::ofstream result("out/result.txt");
  result << upper;
  result.close();
  if (!result) {
    std::cerr << "cannot write out/result.txt\n";
    return 1;
  }
  std::cout << "ok\n";
}
