#include <csignal>
#include <initializer_list>

int main() {
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) {
    std::signal(number, SIG_IGN);
  }

  volatile unsigned long turns = 0;
  for (;;) {
    turns = turns + 1;
  }
}
