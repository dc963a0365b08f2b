#ifndef SANDGLASS_SERVER_SESSION_KERNEL_PROTOCOL_H_
#define SANDGLASS_SERVER_SESSION_KERNEL_PROTOCOL_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "policy/language/language.h"
#include "server/job/job.h"

// What the daemon and a kernel say to each other: one JSON object a line,
// commands into the kernel's standard input, events through a descriptor of its
// own. docs/sessions.md describes it. Whatever runs in the kernel can speak for
// it, about its own session.
namespace sandglass::server {

// Of one cell: results beyond these are counted and left out.
inline constexpr uint64_t kMaxResultBytes = uint64_t{8} << 20;
inline constexpr uint32_t kMaxResults = 256;
// A line; images come in base64.
inline constexpr size_t kMaxEventBytes = size_t{12} << 20;
// Of an error's traceback and value, kept from the end.
inline constexpr size_t kMaxErrorBytes = size_t{256} << 10;

// What runs a cell. `code` and `stdin_data` as in Job; in JSON invalid UTF-8 in
// `code` is replaced.
std::string RunCommand(policy::KernelRecipe::Commands how, uint64_t cell,
                       std::string_view code, std::string_view stdin_data,
                       bool rich);

// The line that lets a cell go on which has displayed something.
std::string AckCommand();

struct KernelReady {
  pid_t pid;  // in the jail, by its own word
};
struct KernelDisplay {
  uint64_t cell;
  RichOutput output;  // without offsets; perhaps empty
  // Of it was left out: bytes that are none of their type's, types that are
  // none, and types beyond what one may have.
  uint32_t left_out = 0;
  uint64_t left_out_bytes = 0;
  // The cell goes on when it is told that this was taken (AckCommand), so that
  // what it writes next comes behind it.
  bool waits = false;
};
struct KernelError {
  uint64_t cell;
  ErrorWords words;
};
// What was displayed so far is to go.
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

// INVALID_ARGUMENT for what is no event: no JSON object, nested too deeply,
// fields of other types or out of range. What is too long in itself is cut. A
// value that isn't of its type is a cell's doing and no broken protocol: only
// that one is left out.
absl::StatusOr<KernelEvent> ParseKernelEvent(std::string_view line);

// Cuts what comes through the pipe into lines.
class KernelLines {
 public:
  // False when a line grew too long; nothing is to be read on then.
  bool Append(std::string_view data);
  // The next whole line, without its end.
  std::optional<std::string> Next();

 private:
  std::string buffer_;
  size_t searched_ = 0;  // so far there is no line's end
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_KERNEL_PROTOCOL_H_
