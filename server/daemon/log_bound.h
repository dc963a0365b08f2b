#ifndef SANDGLASS_SERVER_DAEMON_LOG_BOUND_H_
#define SANDGLASS_SERVER_DAEMON_LOG_BOUND_H_

#include <cstdint>

namespace sandglass::server {

// Where `fd` is a regular file of more than `most` bytes, leaves of it the
// whole lines within its last quarter of that. The file must be open for
// reading, too, and for appending, so that what is written next comes behind.
// Lines that other threads write meanwhile may be lost. Anything else is left
// as it is.
void BoundLog(int fd, uint64_t most);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_LOG_BOUND_H_
