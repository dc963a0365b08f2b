#include "tests/support/host/ancestor.h"

#include <map>
#include <string>

#include "absl/strings/numbers.h"

namespace sandglass::testing {

std::optional<Process> AncestorNamed(const Process& process,
                                     std::string_view name) {
  for (pid_t pid = process.pid; pid > 1;) {
    const std::map<std::string, std::string> status = StatusOf(pid);
    const auto parent = status.find("PPid");
    if (parent == status.end() || !absl::SimpleAtoi(parent->second, &pid)) {
      return std::nullopt;
    }
    if (NameOf(pid) == name) return FindProcess(pid);
  }
  return std::nullopt;
}

}  // namespace sandglass::testing
