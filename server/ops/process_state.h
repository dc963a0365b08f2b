#ifndef SANDGLASS_SERVER_OPS_PROCESS_STATE_H_
#define SANDGLASS_SERVER_OPS_PROCESS_STATE_H_

#include <cstdint>

namespace sandglass::server {

// The resources that this process uses now, from proc(5); 0 when they can't be
// read.
struct ProcessState {
  uint64_t resident_bytes = 0;
  uint32_t threads = 0;
  uint32_t open_fds = 0;  // without the one that this look takes
  uint32_t max_open_fds = 0;
};
ProcessState ReadOwnProcessState();

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OPS_PROCESS_STATE_H_
