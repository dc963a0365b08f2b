#include "sandbox/spawner/masked_proc.h"

#include <sys/stat.h>

namespace sandglass::sandbox {
namespace {

// Parts of /proc that tell of the host or of other users. The jail's /proc is
// read-only as well; this is what may not even be read.
constexpr const char* kMaskedProcPaths[] = {
    "/proc/acpi",
    "/proc/asound",
    "/proc/bus",
    "/proc/driver",
    "/proc/fs",
    "/proc/irq",
    "/proc/scsi",
    "/proc/tty",
    "/proc/sysvipc",
    // The kernel's command line may hold secrets.
    "/proc/cmdline",
    "/proc/bootconfig",
    "/proc/partitions",
    "/proc/diskstats",
    "/proc/kcore",
    "/proc/keys",
    "/proc/key-users",
    "/proc/kallsyms",
    "/proc/kmsg",
    "/proc/latency_stats",
    "/proc/modules",
    "/proc/pagetypeinfo",
    "/proc/sched_debug",
    "/proc/slabinfo",
    "/proc/sysrq-trigger",
    "/proc/timer_list",
    "/proc/interrupts",
    "/proc/softirqs",
    "/proc/vmallocinfo",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/kpagecgroup",
    "/proc/config.gz",
};

}  // namespace

void FindMaskedProc(std::vector<std::string>& files,
                    std::vector<std::string>& directories) {
  for (const char* path : kMaskedProcPaths) {
    struct stat info = {};
    if (::lstat(path, &info) != 0) continue;
    (S_ISDIR(info.st_mode) ? directories : files).emplace_back(path);
  }
}

}  // namespace sandglass::sandbox
