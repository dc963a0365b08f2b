#include <stdexcept>

void Inner() { throw std::runtime_error("boom-42"); }

void Outer() { Inner(); }

int main() { Outer(); }
