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

// Largest message of the API in bytes.
constexpr size_t kMaxMessageBytes = 16 << 20;

// Connects within 2 s. The error is one line that says what is there instead
// of a daemon (no such socket, a stale one, no permission) and what to do.
absl::StatusOr<UniqueFd> Connect(const Address& address);

// How long a daemon may be silent while a call waits for it, twice: it is asked
// for a sign of life then, and again so long later is taken for one that hangs.
constexpr absl::Duration kPatience = absl::Seconds(20);

// A channel over a connection of Connect. It never connects again: when the
// connection breaks or the daemon hangs, calls fail with UNAVAILABLE. Calls
// that name no trace of their own get this traceparent, unless it is empty.
std::shared_ptr<grpc::Channel> MakeChannel(UniqueFd connection,
                                           std::string traceparent,
                                           absl::Duration patience = kPatience);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CONNECTION_CONNECT_H_
