#include "/proc/self/environ"

int main() {}
