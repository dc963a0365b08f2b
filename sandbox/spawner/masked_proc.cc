#include "sandbox/spawner/masked_proc.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace sandglass::sandbox {
namespace {

// What a jail's /proc shows besides its processes: the files that runtimes and
// ordinary tools read. Everything else that this kernel has there tells
// something about the host or about others, or may do so in its next release.
// The jail's /proc is also read-only; this list is about what may be read.
constexpr absl::string_view kShownInProc[] = {
    "cgroups",      // the JVM, to find its limits
    "cpuinfo",      // everything that counts processors
    "filesystems",  // mount, and C libraries looking for a tmpfs
    "loadavg",      // os.getloadavg
    "locks",        // only those of this pid namespace
    "meminfo",      // free, node, the JVM, numeric libraries
    "mounts",       // a link to self/mounts
    "net",          // a link to self/net
    "self",
    "stat",  // processors, for C libraries without /sys
    "sys",   // settings
    "thread-self",
    "uptime",  // node
    "version",
    "vmstat",  // vmstat itself, psutil
};

}  // namespace

bool FindMaskedProc(std::vector<std::string>& files,
                    std::vector<std::string>& directories) {
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"),
                                                 ::closedir);
  if (proc == nullptr) return false;
  errno = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const dirent* entry = ::readdir(proc.get())) {
    const absl::string_view name = entry->d_name;
    if (name.front() == '.' || absl::ascii_isdigit(name.front()) ||
        std::find(std::begin(kShownInProc), std::end(kShownInProc), name) !=
            std::end(kShownInProc)) {
      continue;
    }
    const std::string path = "/proc/" + std::string(name);
    struct stat info = {};
    if (::lstat(path.c_str(), &info) != 0) return false;
    // Where it leads is masked, or isn't there: device-tree, which arm64 has,
    // leads into /sys, and a jail's is empty.
    if (S_ISLNK(info.st_mode)) continue;
    (S_ISDIR(info.st_mode) ? directories : files).push_back(path);
  }
  std::sort(files.begin(), files.end());
  std::sort(directories.begin(), directories.end());
  return errno == 0;
}

}  // namespace sandglass::sandbox
