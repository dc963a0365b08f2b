#ifndef SANDGLASS_SERVER_OPS_PROCESS_STATE_H_
#define SANDGLASS_SERVER_OPS_PROCESS_STATE_H_

#include <cstdint>

namespace sandglass::server {

// What this process has at the moment, by proc(5); 0: it can't be read.
struct ProcessState {
  uint64_t resident_bytes = 0;
  uint32_t threads = 0;
  uint32_t open_fds = 0;  // that of the look itself is not counted
  uint32_t max_open_fds = 0;
};
ProcessState LookAtOwnProcess();

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OPS_PROCESS_STATE_H_
