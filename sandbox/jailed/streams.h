#ifndef SANDGLASS_SANDBOX_JAILED_STREAMS_H_
#define SANDGLASS_SANDBOX_JAILED_STREAMS_H_

#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// Both ends of one standard stream: the program's and the daemon's.
struct StreamPipe {
  os::Fd program;
  os::Fd daemon;
};

enum class DaemonEnd { kRead, kWrite };

// Makes a pipe. The daemon's end is non-blocking, both are close-on-exec. The
// pipe is owned by the file system uid of the caller. Returns false and sets
// errno on failure.
bool MakePipe(DaemonEnd end, StreamPipe& pipe);

struct StreamPipes {
  StreamPipe in;
  StreamPipe out;
  StreamPipe err;
};

bool MakeStreamPipes(StreamPipes& pipes);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_STREAMS_H_
