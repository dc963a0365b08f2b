#ifndef SANDGLASS_SERVER_BASE_NOTIFY_H_
#define SANDGLASS_SERVER_BASE_NOTIFY_H_

#include <string>

namespace sandglass::server {

// Tells the service manager ("READY=1", "STOPPING=1") by the datagram that
// sd_notify(3) describes, with a descriptor for it unless that is -1. Does
// nothing when NOTIFY_SOCKET is not set.
void NotifyServiceManager(const std::string& state, int fd = -1);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_NOTIFY_H_
