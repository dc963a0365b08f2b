// Initialised data lies in the object file: 10 GB of it.
char block[10'000'000'000] = {1};

int main() { return block[0] - 1; }
