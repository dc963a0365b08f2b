#ifndef SANDGLASS_SERVER_JOB_PROGRAM_INPUT_H_
#define SANDGLASS_SERVER_JOB_PROGRAM_INPUT_H_

#include <string>
#include <string_view>

#include "sandbox/os/fd.h"

namespace sandglass::server {

// Writes to a program's standard input, as fast as the program reads it.
class ProgramInput {
 public:
  // Writes `head` and then `data` into the non-blocking `pipe`, which is closed
  // after the last byte. `data` must outlive this object.
  void Open(os::Fd pipe, std::string head, std::string_view data);
  // The descriptor to poll(2) for POLLOUT; -1 when there is nothing left to
  // write.
  int fd() const { return pipe_.get(); }
  // Writes as much as the pipe takes now.
  void Write();

 private:
  os::Fd pipe_;
  std::string head_;
  std::string_view data_;
  size_t written_ = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_PROGRAM_INPUT_H_
