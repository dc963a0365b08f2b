#ifndef SANDGLASS_SERVER_DAEMON_EARLY_LOG_H_
#define SANDGLASS_SERVER_DAEMON_EARLY_LOG_H_

#include <string>

#include "server/base/log.h"

namespace sandglass::server {

// The format that a configuration file asks for, as far as that can be told of
// one that may be wrong, or not be there.
LogFormat FindLogFormat(const std::string& config_file);

// Gives the log its format before the command line and the configuration are
// read, for what is wrong with these, and for a supervisor, which doesn't read
// the latter. Returns it.
LogFormat StartEarlyLog(int argc, const char* const* argv);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_EARLY_LOG_H_
