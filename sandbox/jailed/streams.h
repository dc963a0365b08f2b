#ifndef SANDGLASS_SANDBOX_JAILED_STREAMS_H_
#define SANDGLASS_SANDBOX_JAILED_STREAMS_H_

#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// The ends of one standard stream: the program's and the daemon's.
struct StreamPipe {
  os::Fd program;
  os::Fd daemon;
};

enum class DaemonEnd { kRead, kWrite };

// The daemon's end is non-blocking, both are close-on-exec. A pipe belongs to
// its maker's file system uid. False with errno.
bool MakePipe(DaemonEnd end, StreamPipe& pipe);

struct StreamPipes {
  StreamPipe in;
  StreamPipe out;
  StreamPipe err;
};

bool MakeStreamPipes(StreamPipes& pipes);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_STREAMS_H_
