#ifndef SANDGLASS_SERVER_PLACE_CHECK_H_
#define SANDGLASS_SERVER_PLACE_CHECK_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/config.h"

namespace sandglass::server {

// Whether the daemon of a configuration could use its places on this machine.
// All of it changes nothing; run as root.

// FAILED_PRECONDITION when `directory`, if it is there, belongs to somebody who
// is neither root, nor `daemon`, nor whoever calls: the owner could put another
// daemon's socket into it. `setting` is what names it, for the message.
absl::Status CheckOwner(const std::string& setting,
                        const std::string& directory, uid_t daemon);

// UNAVAILABLE when nobody can listen on a numeric "IP:PORT" now.
absl::Status CheckPort(const std::string& setting, const std::string& address);

// The same of all addresses of a configuration.
absl::Status CheckPorts(const Config& config);

// One line for each thing that is wrong: a directory that can't be made or
// written, is another's or full; an address that is taken. Of a daemon that
// runs already with this configuration the addresses are left out.
std::vector<std::string> CheckPlaces(const Config& config, uid_t daemon);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_PLACE_CHECK_H_
