#ifndef SANDGLASS_CLIENT_OPERATOR_USAGE_TEXT_H_
#define SANDGLASS_CLIENT_OPERATOR_USAGE_TEXT_H_

#include <string>

#include "client/operator/operator_options.h"
#include "sandglass/v1/operator.pb.h"

namespace sandglass::client {

// The output of `sandglass usage`, harmless for a terminal: the period, and a
// line for each caller or language, with a sum below if there is more than one.
std::string UsageText(const v1::GetUsageResponse& usage, UsageBy by);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_OPERATOR_USAGE_TEXT_H_
