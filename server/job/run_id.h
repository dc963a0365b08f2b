#ifndef SANDGLASS_SERVER_JOB_RUN_ID_H_
#define SANDGLASS_SERVER_JOB_RUN_ID_H_

#include <string>

#include "server/base/random_id.h"

namespace sandglass::server {

// As NodeId says.
inline std::string NewRunId() { return NodeId("run-"); }

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_RUN_ID_H_
