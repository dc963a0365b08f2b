#include <bits/stdc++.h>

int main() { std::cout << "run 0\n"; }
