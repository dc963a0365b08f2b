// Only there for the headers that tests share; see headers.cmake.
int main() {}
