#ifndef SANDGLASS_CLIENT_BASE_UNIQUE_FD_H_
#define SANDGLASS_CLIENT_BASE_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace sandglass::client {

// Owns one file descriptor and closes it. -1 means none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = other.Release();
    }
    return *this;
  }
  ~UniqueFd() { Close(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // Gives up ownership: the caller has to close the descriptor.
  int Release() { return std::exchange(fd_, -1); }

 private:
  void Close() {
    if (fd_ >= 0) close(fd_);
  }
  int fd_ = -1;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_BASE_UNIQUE_FD_H_
