#include "sandbox/host/host_helpers.h"

#include <fcntl.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "sandbox/os/files.h"

namespace sandglass::sandbox {
namespace {

// nullopt only when the kernel doesn't have the sysctl. One that can't be read
// may have any value.
std::optional<std::string> Sysctl(const char* path) {
  const absl::StatusOr<std::string> text = os::ReadSmallFile(AT_FDCWD, path);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  if (!text.ok()) return "(unreadable)";
  return std::string(absl::StripSuffix(*text, "\n"));
}

// Accepts versions such as "6.14.0-rc1".
bool IsAtLeast(const std::string& kernel, int major, int minor) {
  const std::vector<std::string> parts =
      absl::StrSplit(kernel, absl::MaxSplits('.', 2));
  int its_major = 0;
  int its_minor = 0;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[0], &its_major)) return false;
  const std::string digits =
      parts[1].substr(0, parts[1].find_first_not_of("0123456789"));
  if (!absl::SimpleAtoi(digits, &its_minor)) return false;
  return std::pair(its_major, its_minor) >= std::pair(major, minor);
}

Layer MakeLayer(const char* name, bool in_force, std::string detail) {
  return {name, in_force ? LayerState::kInForce : LayerState::kNotAvailable,
          false, std::move(detail)};
}

Layer JudgeCrashes(const HelperSettings& settings) {
  const std::string& pattern = settings.core_pattern;
  if (!pattern.empty() && pattern[0] == '@') {
    return MakeLayer("core-limit", false,
                     absl::StrCat("kernel.core_pattern names a socket (\"",
                                  pattern, "\"), which is told of crashes"));
  }
  if (settings.can_forbid_crash_helper) {
    return MakeLayer("core-limit", true,
                     "a crash starts no program of the host");
  }
  return MakeLayer(
      "core-limit", false,
      absl::StrCat(
          "the hard limit of core files is 0 (ulimit -Hc), which stops "
          "no program that kernel.core_pattern starts for a crash; it "
          "is \"",
          pattern,
          "\" now; start the daemon with 1 or more (LimitCORE=1 in a unit, "
          "--ulimit core=1 for a container)"));
}

Layer JudgeModules(const HelperSettings& settings) {
  if (!settings.modprobe) {
    return MakeLayer("module-search", true, "this kernel loads no modules");
  }
  if (settings.modprobe->empty()) {
    return MakeLayer("module-search", true, "kernel.modprobe is empty");
  }
  if (IsAtLeast(settings.kernel, 6, 14)) {
    return MakeLayer("module-search", true,
                     "a file that can't be executed starts no modprobe");
  }
  return MakeLayer(
      "module-search", false,
      absl::StrCat("before Linux 6.14 a file that can't be executed starts ",
                   *settings.modprobe,
                   ", as root and in no limit; sysctl kernel.modprobe= ends "
                   "this, and loading modules on demand"));
}

}  // namespace

void ReadHelperSysctls(HelperSettings& settings) {
  settings.core_pattern = Sysctl("/proc/sys/kernel/core_pattern").value_or("");
  settings.modprobe = Sysctl("/proc/sys/kernel/modprobe");
}

std::vector<Layer> JudgeHelpers(const HelperSettings& settings) {
  return {JudgeCrashes(settings), JudgeModules(settings)};
}

}  // namespace sandglass::sandbox
