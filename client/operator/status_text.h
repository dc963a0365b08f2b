#ifndef SANDGLASS_CLIENT_OPERATOR_STATUS_TEXT_H_
#define SANDGLASS_CLIENT_OPERATOR_STATUS_TEXT_H_

#include <cstddef>
#include <string>

#include "sandglass/v1/operator.pb.h"

namespace sandglass::client {

// The output of `sandglass status`, harmless for a terminal: whether the daemon
// is ready and what it lacks, then the rest of one screen. Lines have at most
// `width` columns; 0: no limit.
std::string StatusText(const v1::GetStatusResponse& status, size_t width);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_OPERATOR_STATUS_TEXT_H_
