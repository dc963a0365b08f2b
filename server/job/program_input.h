#ifndef SANDGLASS_SERVER_JOB_PROGRAM_INPUT_H_
#define SANDGLASS_SERVER_JOB_PROGRAM_INPUT_H_

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "sandbox/os/fd.h"
#include "sandbox/os/io.h"

namespace sandglass::server {

// Writes to a program's standard input, as fast as the program reads it.
class ProgramInput {
 public:
  // Writes `head` and then `data` into the non-blocking `pipe`, which is closed
  // after the last byte. `data` must outlive this object.
  void Open(os::Fd pipe, std::string head, std::string_view data) {
    pipe_ = std::move(pipe);
    head_ = std::move(head);
    data_ = data;
    written_ = 0;
    if (head_.empty() && data_.empty()) pipe_.reset();
  }
  // The descriptor to poll(2) for POLLOUT; -1 when there is nothing left to
  // write.
  int fd() const { return pipe_.get(); }
  // Writes as much as the pipe takes now.
  void Write() {
    while (pipe_.valid()) {
      const std::string_view rest =
          written_ < head_.size() ? std::string_view(head_).substr(written_)
                                  : data_.substr(written_ - head_.size());
      const ssize_t size = os::WriteNow(pipe_.get(), rest.data(), rest.size());
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && errno == EAGAIN) return;
      // EPIPE: the program doesn't want more; that is its right.
      if (size > 0) written_ += static_cast<size_t>(size);
      if (size < 0 || written_ == head_.size() + data_.size()) pipe_.reset();
    }
  }

 private:
  os::Fd pipe_;
  std::string head_;
  std::string_view data_;
  size_t written_ = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_PROGRAM_INPUT_H_
