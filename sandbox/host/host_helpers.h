#ifndef SANDGLASS_SANDBOX_HOST_HOST_HELPERS_H_
#define SANDGLASS_SANDBOX_HOST_HOST_HELPERS_H_

#include <optional>
#include <string>
#include <vector>

#include "sandbox/host/host_probe.h"

namespace sandglass::sandbox {

// Settings that decide whether an act of a sandboxed program makes the kernel
// start a program on the host, as root and in none of the jail's control
// groups: when it crashes, the one that core_pattern names (core(5)), and when
// it executes a file of unknown format, modprobe (search_binary_handler() in
// fs/exec.c, before Linux 6.14).
struct HelperSettings {
  std::string kernel;                   // uname -r
  std::string core_pattern;             // kernel.core_pattern
  bool can_forbid_crash_helper = true;  // os::ForbidCrashHelper
  // kernel.modprobe; nullopt in a kernel that can't load modules.
  std::optional<std::string> modprobe;
};

// Reads the sysctls into `settings` and leaves the rest unchanged.
void ReadHelperSysctls(HelperSettings& settings);

// Returns the layers "core-limit" and "module-search". Neither is required.
std::vector<Layer> JudgeHelpers(const HelperSettings& settings);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_HOST_HOST_HELPERS_H_
