#ifndef SANDGLASS_TESTS_SECURITY_POSTURE_TABLES_H_
#define SANDGLASS_TESTS_SECURITY_POSTURE_TABLES_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

// What a live jail may be, as the host sees it.
namespace sandglass::testing {

inline constexpr const char* kNamespaces[] = {"user", "pid", "mnt",   "net",
                                              "ipc",  "uts", "cgroup"};
inline constexpr char kNoCapability[] = "0000000000000000";
// CAP_KILL (5), CAP_SETGID (6), CAP_SETUID (7).
inline constexpr char kInitCapabilities[] = "00000000000000e0";

// Exact values of /proc/<pid>/status.
using Table = std::map<std::string, std::string>;

inline const Table kProgramStatus = {
    {"CapInh", kNoCapability}, {"CapPrm", kNoCapability},
    {"CapEff", kNoCapability}, {"CapBnd", kNoCapability},
    {"CapAmb", kNoCapability}, {"NoNewPrivs", "1"},
    {"Seccomp", "2"},          {"Groups", ""},
    {"TracerPid", "0"},
};
// Of one of ours that holds these capabilities and no way to others.
inline Table StatusWith(const std::string& capabilities) {
  return {{"CapInh", kNoCapability},
          {"CapPrm", capabilities},
          {"CapEff", capabilities},
          {"CapAmb", kNoCapability},
          {"CapBnd", kNoCapability},
          {"NoNewPrivs", "1"},
          {"Groups", ""},
          {"TracerPid", "0"}};
}
inline const Table kInitStatus = StatusWith(kInitCapabilities);
inline const Table kServerStatus = StatusWith(kNoCapability);
// CAP_SYS_ADMIN (21) too, of its own user namespace.
inline constexpr char kWaitingInitCapabilities[] = "00000000002000e0";
inline const Table kWaitingInitStatus = StatusWith(kWaitingInitCapabilities);
// Two for programs that start their interpreter, one per zygote.
inline constexpr size_t kWaitingJails = 2 + 3;

// Soft and hard rlimits of a program under default limits.
inline const std::map<std::string, std::string> kProgramRlimits = {
    {"Max core file size", "0 0"},
    {"Max open files", "1024 1024"},
    {"Max file size", "67108864 67108864"},
    {"Max locked memory", "65536 65536"},
    {"Max realtime priority", "0 0"},
    {"Max nice priority", "0 0"},
    {"Max msgqueue size", "819200 819200"},
};

// Options that each mount of a jail must have, by mount point; "" stands for
// every other mount (read-only parts of the image).
inline const std::map<std::string, std::vector<std::string>> kMountOptions = {
    {"/tmp", {"rw", "nosuid", "nodev"}},
    {"/workspace", {"rw", "nosuid", "nodev"}},
    {"/dev/shm", {"rw", "nosuid", "nodev"}},
    {"/home/sandbox", {"rw", "nosuid", "nodev"}},
    {"/proc", {"ro", "nosuid", "nodev", "noexec"}},
    // What was prepared for languages.
    {"/var/cache/sandglass", {"ro", "nosuid", "noexec"}},
    // The one place with device nodes: null, zero, full, random, urandom.
    {"/dev", {"ro", "nosuid", "noexec"}},
    {"", {"ro", "nosuid"}},
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SECURITY_POSTURE_TABLES_H_
