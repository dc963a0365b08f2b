#include "sandbox/jailed/streams.h"

#include <fcntl.h>
#include <unistd.h>

namespace sandglass::sandbox {
bool MakePipe(DaemonEnd end, StreamPipe& pipe) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return false;
  const bool reads = end == DaemonEnd::kRead;
  pipe.daemon.reset(reads ? fds[0] : fds[1]);
  pipe.program.reset(reads ? fds[1] : fds[0]);
  return ::fcntl(pipe.daemon.get(), F_SETFL, O_NONBLOCK) == 0;
}

bool MakeStreamPipes(StreamPipes& pipes) {
  return MakePipe(DaemonEnd::kWrite, pipes.in) &&
         MakePipe(DaemonEnd::kRead, pipes.out) &&
         MakePipe(DaemonEnd::kRead, pipes.err);
}

}  // namespace sandglass::sandbox
