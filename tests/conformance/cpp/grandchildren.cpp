#include <unistd.h>

#include <iostream>

int main() {
  if (fork() == 0) {
    fork();
    sleep(600);
    _exit(0);
  }
  std::cout << "parent done\n";
}
