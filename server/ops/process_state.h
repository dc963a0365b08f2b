#ifndef SANDGLASS_SERVER_OPS_PROCESS_STATE_H_
#define SANDGLASS_SERVER_OPS_PROCESS_STATE_H_

#include "sandglass/v1/operator.pb.h"

namespace sandglass::server {

// Sets what this process uses now, from proc(5): resident_bytes, threads,
// open_fds without the one that this look takes, and max_open_fds; 0 when they
// can't be read.
void FillProcess(v1::GetStatusResponse& response);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OPS_PROCESS_STATE_H_
