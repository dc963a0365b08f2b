#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

int main() {
  int counter = 0;
  std::mutex mutex;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 1000; ++n) {
          const std::lock_guard lock(mutex);
          ++counter;
        }
      });
    }
  }
  std::cout << counter << '\n';
}
