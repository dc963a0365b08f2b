#ifndef SANDGLASS_SERVER_SESSION_KERNEL_PROTOCOL_H_
#define SANDGLASS_SERVER_SESSION_KERNEL_PROTOCOL_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "policy/language/language.h"
#include "server/job/job.h"

// The protocol between the daemon and a kernel: one JSON object per line,
// commands through the kernel's standard input, events through a descriptor of
// their own. docs/sessions.md describes it. Any code that runs in the kernel
// can send events in its name, but only about its own session.
namespace sandglass::server {

// Bounds for one cell: results beyond these are counted and left out.
inline constexpr uint64_t kMaxResultBytes = uint64_t{8} << 20;
inline constexpr uint32_t kMaxResults = 256;
// The longest line; images come in base64.
inline constexpr size_t kMaxEventBytes = size_t{12} << 20;
// Bound for an error's traceback and value; what is kept is the end of each.
inline constexpr size_t kMaxErrorBytes = size_t{256} << 10;

struct CellMode {
  bool rich = false;  // a value is displayed
  // No other cell follows: the kernel ends as a program of the cell's text
  // would, and its exit code is the cell's.
  bool last = false;
};

// The command that runs a cell. `code` and `stdin_data` are as in Job; in JSON,
// invalid UTF-8 in `code` is replaced. Without `args` the program's arguments
// stay as they are.
std::string RunCommand(policy::KernelRecipe::Commands how, uint64_t cell,
                       std::string_view code, std::string_view stdin_data,
                       CellMode mode,
                       const std::vector<std::string>& args = {});

// The line after which a cell that has displayed something goes on.
std::string AckCommand();

struct KernelReady {
  pid_t pid;  // in the jail, as the kernel itself says
};
struct KernelDisplay {
  uint64_t cell;
  RichOutput output;  // without offsets; perhaps empty
  // What was left out of it: bytes that don't fit their type, types that aren't
  // MIME types, and types beyond the number that one output may have.
  uint32_t left_out = 0;
  uint64_t left_out_bytes = 0;
  // Whether the cell waits until it is told that this was received
  // (AckCommand), so that what it writes next comes after it.
  bool waits = false;
};
struct KernelError {
  uint64_t cell;
  ErrorWords words;
};
// What was displayed so far is to be removed.
struct KernelClear {
  uint64_t cell;
};
struct KernelDropped {
  uint64_t cell;
  uint32_t count;
  uint64_t bytes;
};
struct KernelDone {
  uint64_t cell;
  int exit_code;  // 0 to 255
};
using KernelEvent = std::variant<KernelReady, KernelDisplay, KernelError,
                                 KernelClear, KernelDropped, KernelDone>;

// Parses one line. INVALID_ARGUMENT when it is not an event: it isn't a JSON
// object, is nested too deeply, or has fields of other types or out of range.
// Texts that are too long are cut. A value that doesn't fit its MIME type is
// the cell's doing and doesn't break the protocol: only that value is left out.
absl::StatusOr<KernelEvent> ParseKernelEvent(std::string_view line);

// Splits what comes through the pipe into lines.
class KernelLines {
 public:
  // Returns false when a line grew too long; nothing may be read any more then.
  bool Append(std::string_view data);
  // The next whole line, without its newline.
  std::optional<std::string> Next();

 private:
  std::string buffer_;
  size_t searched_ = 0;  // up to here there is no newline
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_KERNEL_PROTOCOL_H_
