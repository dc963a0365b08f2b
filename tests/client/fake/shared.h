#ifndef SANDGLASS_TESTS_CLIENT_FAKE_SHARED_H_
#define SANDGLASS_TESTS_CLIENT_FAKE_SHARED_H_

#include <mutex>
#include <utility>

namespace sandglass::client {

// A value that a test and the threads of its server share.
template <typename T>
class Shared {
 public:
  Shared() = default;
  Shared(const Shared&) = delete;
  // Whoever set the value may be a thread of gRPC's, of whose locks a sanitizer
  // knows nothing.
  ~Shared() { const std::lock_guard<std::mutex> lock(mutex_); }
  Shared& operator=(T value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    value_ = std::move(value);
    return *this;
  }
  T Get() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return value_;
  }
  // Calls `change` with the value, alone.
  template <typename Function>
  void Change(const Function& change) {
    const std::lock_guard<std::mutex> lock(mutex_);
    change(value_);
  }

 private:
  mutable std::mutex mutex_;
  T value_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_TESTS_CLIENT_FAKE_SHARED_H_
