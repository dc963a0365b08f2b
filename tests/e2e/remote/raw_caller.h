#ifndef SANDGLASS_TESTS_E2E_REMOTE_RAW_CALLER_H_
#define SANDGLASS_TESTS_E2E_REMOTE_RAW_CALLER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "sandbox/os/fd.h"
#include "server/edge/http2_frames.h"
#include "tests/support/network/tls_world.h"

namespace sandglass::testing {

// A TCP connection to 127.0.0.1 from another address of this machine, such as
// "127.0.0.2", which counts as a network of its own. Invalid when there is
// none.
os::Fd ConnectFrom(const std::string& from, int port);

// A client over TLS that sends bytes of a test's choice.
class RawCaller {
 public:
  RawCaller(int port, const TlsContext& tls,
            const std::string& from = "127.0.0.2");
  // Whether the handshake is done.
  bool connected() const { return connected_; }

  // kStuck: the other side has taken nothing for two seconds.
  enum class Sent { kAll, kEnded, kStuck };
  enum class Meanwhile { kReads, kReadsNothing };
  Sent Send(std::string_view bytes, Meanwhile meanwhile = Meanwhile::kReads);

  // Takes what comes until the other side ends the connection; false when it
  // doesn't within `time`.
  bool Ends(absl::Duration time);
  // Takes what comes until so many calls have ended; false when they don't
  // within `time`.
  bool CallsEnd(size_t calls, absl::Duration time);

  // The gRPC status of the first call that ended; "" when none did.
  std::string FirstStatus() const;
  // Calls that were answered or reset.
  size_t ended_calls() const { return ended_calls_; }

 private:
  // Takes what there is; false once the connection is over.
  bool Read();
  bool WaitUntilReadable(absl::Time end) const;

  os::Fd socket_;
  std::optional<TlsEnd> tls_;
  bool connected_ = false;
  bool over_ = false;
  server::Http2Frames frames_;
  std::string headers_;  // of all answers
  size_t ended_calls_ = 0;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_E2E_REMOTE_RAW_CALLER_H_
