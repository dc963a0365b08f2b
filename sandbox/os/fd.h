#ifndef SANDGLASS_SANDBOX_OS_FD_H_
#define SANDGLASS_SANDBOX_OS_FD_H_

#include <unistd.h>

#include <utility>

namespace sandglass::os {

// Owns one file descriptor and closes it in the destructor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  // Returns -1 when empty. The Fd stays the owner.
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // Gives up ownership: the caller has to close the descriptor.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    // close(2) leaves the state of a descriptor unspecified after EINTR; on
    // Linux it is closed, so it must not be closed again.
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_FD_H_
