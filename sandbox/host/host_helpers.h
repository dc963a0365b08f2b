#ifndef SANDGLASS_SANDBOX_HOST_HOST_HELPERS_H_
#define SANDGLASS_SANDBOX_HOST_HOST_HELPERS_H_

#include <optional>
#include <string>
#include <vector>

#include "sandbox/host/host_probe.h"

namespace sandglass::sandbox {

// What decides whether the kernel starts programs of the host, as root and in
// no control group of the jail's, for what a program does: the one that
// core_pattern names when it crashes (core(5)), and modprobe for a file that it
// can't execute (search_binary_handler() in fs/exec.c, before Linux 6.14).
struct HelperSettings {
  std::string kernel;                   // uname -r
  std::string core_pattern;             // kernel.core_pattern
  bool can_forbid_crash_helper = true;  // os::ForbidCrashHelper
  // kernel.modprobe; none in a kernel that loads no modules.
  std::optional<std::string> modprobe;
};

// What the sysctls are; the rest is left as it is.
void ReadHelperSysctls(HelperSettings& settings);

// The layers "core-limit" and "module-search", neither of them required.
std::vector<Layer> JudgeHelpers(const HelperSettings& settings);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_HOST_HOST_HELPERS_H_
