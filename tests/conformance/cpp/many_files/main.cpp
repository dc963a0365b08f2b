#include <iostream>

#include "numbers.h"
#include "totals/adder.h"

int main() { std::cout << "sum: " << totals::AddAll(Numbers()) << '\n'; }
