#ifndef SANDGLASS_SERVER_EXEC_EXEC_REQUEST_H_
#define SANDGLASS_SERVER_EXEC_EXEC_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "policy/limits/limits.h"
#include "policy/redaction/redaction.h"
#include "policy/verdict/hints.h"
#include "sandbox/jail/session_jail.h"
#include "sandglass/v1/exec.pb.h"
#include "server/job/session_spec.h"
#include "server/live_policy/policy_set.h"

namespace sandglass::server {

// Checks requests that are about commands.

inline constexpr size_t kMaxExecIdBytes = 64;
// The bound for one text or argument, set by the kernel (MAX_ARG_STRLEN without
// its NUL).
inline constexpr size_t kMaxCommandBytes = (size_t{128} << 10) - 1;
inline constexpr size_t kMaxDirectoryBytes = 4095;
// The bound for the arguments and the whole environment together, which go to
// init in one packet.
inline constexpr size_t kMaxStartBytes = size_t{224} << 10;

// Stands for a limit of bytes that isn't there.
inline constexpr uint64_t kNoByteLimit = ~uint64_t{0};

// A command with everything checked and all defaults filled in.
struct ExecPlan {
  std::string exec_id;      // empty when none was chosen yet
  bool named = false;       // whether the client chose it
  std::string fingerprint;  // of everything that was asked for
  sandbox::ProcessSpec process;
  policy::Command starter;  // words before its argv, see Language
  // wall_time and cpu_time may be infinite, output_total_bytes may be
  // kNoByteLimit.
  policy::Limits limits;
  std::string stdin_data;
  bool open_stdin = false;  // also when on a terminal
  bool background = false;
  std::string trace_id;  // of the call that asked for it
  // For its output; may be null.
  std::shared_ptr<const policy::Redactor> redactor;
  // What the session's profile has, for hints.
  bool has_network = false;
  policy::LibraryOffer library_offer = policy::LibraryOffer::kNothing;

  bool on_terminal() const {
    return process.stdio == sandbox::ProcessSpec::Stdio::kTerminal;
  }
};

// INVALID_ARGUMENT with all violations at once; field paths start with
// `prefix` ("spec." or "start.spec.").
absl::StatusOr<ExecPlan> CheckExecSpec(const PolicySet& policy,
                                       const SessionSpec& session,
                                       const v1::ExecSpec& spec,
                                       const std::string& prefix);

// INVALID_ARGUMENT, naming `field`, unless it is 1 to 64.
absl::Status CheckSignal(int32_t signal, const std::string& field);

struct TerminalRoom {
  uint16_t rows;
  uint16_t columns;
};
absl::StatusOr<TerminalRoom> CheckTerminalSize(const v1::TerminalSize& size,
                                               const std::string& field);

// Returns a wait of zero to `max`; otherwise INVALID_ARGUMENT, naming `field`.
absl::StatusOr<absl::Duration> CheckWait(const google::protobuf::Duration& wait,
                                         const std::string& field,
                                         absl::Duration max);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EXEC_EXEC_REQUEST_H_
