// What a kernel says, or what runs in it and speaks for it, as the daemon takes
// it line by line. What is taken is within its bounds.
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "server/base/strings.h"
#include "server/session/kernel_protocol.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::server {
namespace {

void CheckDisplay(const KernelDisplay& display, size_t line) {
  bool first = true;
  for (const auto& [type, data] : display.output.data) {
    FUZZ_CHECK(!type.empty() && IsPrintableAscii(type));
    // A byte of JSON that is no text may become three.
    FUZZ_CHECK(data.size() <= 3 * line);
    FUZZ_CHECK(first || type != "text/plain");
    first = false;
  }
}

void CheckLine(const std::string& line) {
  const absl::StatusOr<KernelEvent> event = ParseKernelEvent(line);
  if (!event.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(event.status()));
    return;
  }
  if (const auto* done = std::get_if<KernelDone>(&*event)) {
    FUZZ_CHECK(done->exit_code >= 0 && done->exit_code <= 255);
  } else if (const auto* ready = std::get_if<KernelReady>(&*event)) {
    FUZZ_CHECK(ready->pid >= 0);
  } else if (const auto* error = std::get_if<KernelError>(&*event)) {
    FUZZ_CHECK(error->words.traceback.size() <= kMaxErrorBytes);
  } else if (const auto* display = std::get_if<KernelDisplay>(&*event)) {
    CheckDisplay(*display, line.size());
  }
}

}  // namespace
}  // namespace sandglass::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using sandglass::server::KernelLines;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // In two pieces, so that lines are cut by them.
  const size_t cut = size == 0 ? 0 : data[0] % (size + 1);
  KernelLines lines;
  std::string whole;
  for (const std::string_view piece : {text.substr(0, cut), text.substr(cut)}) {
    FUZZ_CHECK(lines.Append(piece));
    while (std::optional<std::string> line = lines.Next()) {
      sandglass::server::CheckLine(*line);
      whole += *line + "\n";
    }
  }
  FUZZ_CHECK(whole == text.substr(0, whole.size()));
  // A command is one line, whatever it carries.
  const std::string command = sandglass::server::RunCommand(
      sandglass::policy::KernelRecipe::Commands::kJson, 1, text, text, {});
  FUZZ_CHECK(command.find('\n') == command.size() - 1);
  return 0;
}
