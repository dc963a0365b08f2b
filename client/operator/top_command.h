#ifndef SANDGLASS_CLIENT_OPERATOR_TOP_COMMAND_H_
#define SANDGLASS_CLIENT_OPERATOR_TOP_COMMAND_H_

#include <string>

#include "client/operator/operator_options.h"

namespace sandglass::client {

// `sandglass top`. Returns the exit code: kExitOk when it was left by its key,
// 128 + the number of a signal, Ctrl-C as SIGINT, and kExitError when there was
// no daemon to begin with. No other thread may be there yet.
int TopCommand(const std::string& address, const TopOptions& options);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_OPERATOR_TOP_COMMAND_H_
