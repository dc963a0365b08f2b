#ifndef SANDGLASS_CLIENT_CONNECTION_CONNECT_H_
#define SANDGLASS_CLIENT_CONNECTION_CONNECT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/base/unique_fd.h"
#include "client/connection/address.h"
#include "grpcpp/channel.h"

namespace sandglass::client {

// The largest message of the API, in bytes.
constexpr size_t kMaxMessageBytes = 16 << 20;

// Connects within 2 s. The error is one line that says what is there instead of
// a daemon (no such socket, a stale one, no permission) and what to do.
absl::StatusOr<UniqueFd> Connect(const Address& address);

// What to do where no daemon is at the address; `root` is that of the file
// system, for tests.
std::string HowToStart(const Address& address, const std::string& root = "");

// After a daemon has been silent for this long while a call waits for it, it is
// asked for a sign of life; when it has been silent for as long again, it is
// assumed to hang.
constexpr absl::Duration kPatience = absl::Seconds(20);

// Makes a channel over a connection from Connect. It never reconnects: when the
// connection breaks or the daemon hangs, calls fail with UNAVAILABLE. Calls
// without a trace of their own get this traceparent, unless it is empty.
std::shared_ptr<grpc::Channel> MakeChannel(UniqueFd connection,
                                           std::string traceparent,
                                           absl::Duration patience = kPatience);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CONNECTION_CONNECT_H_
