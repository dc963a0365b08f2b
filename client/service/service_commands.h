#ifndef SANDGLASS_CLIENT_SERVICE_SERVICE_COMMANDS_H_
#define SANDGLASS_CLIENT_SERVICE_SERVICE_COMMANDS_H_

#include "client/service/service_options.h"

namespace sandglass::client {

// Runs `sandglass up`, `down` or `logs`. Returns the exit code.
int ServiceCommand(const ServiceOptions& options);

// Starts a daemon in the background and waits until it serves, then says what
// it offers. When one serves already there, that is said of it instead. As root
// it has all rights; an ordinary user's becomes root of a user namespace.
// Under sudo, and without options.group, the socket belongs to the group of the
// user who called sudo, if that is called like the user and so his alone.
int UpCommand(const UpOptions& options);
int DownCommand(const DownOptions& options);
int LogsCommand(const LogsOptions& options);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SERVICE_SERVICE_COMMANDS_H_
