#include <iostream>

int main() { std::cout << __FILE__ << '\n'; }
