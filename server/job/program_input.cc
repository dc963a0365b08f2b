#include "server/job/program_input.h"

#include <cerrno>
#include <utility>

#include "sandbox/os/io.h"

namespace sandglass::server {

void ProgramInput::Open(os::Fd pipe, std::string head, std::string_view data) {
  pipe_ = std::move(pipe);
  head_ = std::move(head);
  data_ = data;
  written_ = 0;
  if (head_.empty() && data_.empty()) pipe_.reset();
}

void ProgramInput::Write() {
  while (pipe_.valid()) {
    const std::string_view rest = written_ < head_.size()
                                      ? std::string_view(head_).substr(written_)
                                      : data_.substr(written_ - head_.size());
    const ssize_t size = os::WriteNow(pipe_.get(), rest.data(), rest.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    // EPIPE: the program doesn't want more; that is its right.
    if (size > 0) written_ += static_cast<size_t>(size);
    if (size < 0 || written_ == head_.size() + data_.size()) pipe_.reset();
  }
}

}  // namespace sandglass::server
