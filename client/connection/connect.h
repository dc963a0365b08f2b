#ifndef SANDGLASS_CLIENT_CONNECTION_CONNECT_H_
#define SANDGLASS_CLIENT_CONNECTION_CONNECT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/base/unique_fd.h"
#include "client/connection/address.h"
#include "client/connection/call_metadata.h"
#include "grpcpp/channel.h"
#include "grpcpp/support/channel_arguments.h"

namespace sandglass::client {

// The largest message of the API, in bytes.
constexpr size_t kMaxMessageBytes = 16 << 20;

// Connects to an address without TLS within 2 s. The error is one line that
// says what is there instead of a daemon (no such socket, a stale one, no
// permission) and what to do.
absl::StatusOr<UniqueFd> Connect(const Address& address);

// What to do where no daemon is at the address; `root` is that of the file
// system, for tests.
std::string HowToStart(const Address& address, const std::string& root = "");

// After a daemon has been silent for this long while a call waits for it, it is
// asked for a sign of life; when it has been silent for as long again, it is
// assumed to hang.
constexpr absl::Duration kPatience = absl::Seconds(20);

// What all channels to daemons have in common: signs of life and sizes.
grpc::ChannelArguments DaemonChannelArguments(absl::Duration patience);

// Makes a channel over a connection from Connect. It never reconnects: when the
// connection breaks or the daemon hangs, calls fail with UNAVAILABLE. Calls
// without such metadata of their own get these.
std::shared_ptr<grpc::Channel> MakeChannel(UniqueFd connection,
                                           std::vector<CallMetadata> metadata,
                                           absl::Duration patience = kPatience);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CONNECTION_CONNECT_H_
