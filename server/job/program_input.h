#ifndef SANDGLASS_SERVER_JOB_PROGRAM_INPUT_H_
#define SANDGLASS_SERVER_JOB_PROGRAM_INPUT_H_

#include <string>
#include <string_view>

#include "sandbox/os/fd.h"

namespace sandglass::server {

// What goes to a program's standard input, as fast as it is taken.
class ProgramInput {
 public:
  // `head`, then `data`, go into the non-blocking `pipe`, which is closed after
  // the last byte. `data` outlives this.
  void Open(os::Fd pipe, std::string head, std::string_view data);
  // For poll(2), POLLOUT; -1 when there is nothing left to write.
  int fd() const { return pipe_.get(); }
  // Writes what the pipe takes now.
  void Write();

 private:
  os::Fd pipe_;
  std::string head_;
  std::string_view data_;
  size_t written_ = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_PROGRAM_INPUT_H_
