#include "sandbox/jail/jail_process.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "sandbox/os/files.h"

namespace sandglass::sandbox {

pid_t PidOf(const os::Fd& pidfd) {
  const absl::StatusOr<std::string> info = os::ReadSmallFile(
      AT_FDCWD, absl::StrCat("/proc/self/fdinfo/", pidfd.get()).c_str());
  if (!info.ok()) return 0;
  for (const absl::string_view line : absl::StrSplit(*info, '\n')) {
    const std::pair<absl::string_view, absl::string_view> words =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    pid_t pid = 0;
    if (words.first == "Pid" && absl::SimpleAtoi(words.second, &pid)) {
      return pid > 0 ? pid : 0;
    }
  }
  return 0;
}

bool IsAlive(const os::Fd& pidfd) {
  struct pollfd fd = {pidfd.get(), POLLIN, 0};
  return ::poll(&fd, 1, 0) == 0;
}

std::string GroupOfProcess(pid_t pid) {
  const absl::StatusOr<std::string> text = os::ReadSmallFile(
      AT_FDCWD, absl::StrCat("/proc/", pid, "/cgroup").c_str());
  if (!text.ok()) return "";
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (absl::ConsumePrefix(&line, "0::")) return std::string(line);
  }
  return "";
}

JailProcess FindProcess(const os::Fd& pidfd) {
  JailProcess process;
  process.pid = PidOf(pidfd);
  process.group = GroupOfProcess(process.pid);
  // ORDER: checked last. As long as the process lives, no other has its pid.
  return IsAlive(pidfd) ? process : JailProcess();
}

bool IsStill(const JailProcess& process) {
  return process.pid > 0 && !process.group.empty() &&
         GroupOfProcess(process.pid) == process.group;
}

uint64_t CeilSeconds(absl::Duration duration) {
  const double seconds = std::ceil(absl::ToDoubleSeconds(duration));
  constexpr double kMax = 1e15;
  return seconds < kMax ? static_cast<uint64_t>(std::max(seconds, 0.0))
                        : std::numeric_limits<uint64_t>::max();
}

}  // namespace sandglass::sandbox
