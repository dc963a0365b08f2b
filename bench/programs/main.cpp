#include <iostream>

int main() { std::cout << "run 0\n"; }
