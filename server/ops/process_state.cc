#include "server/ops/process_state.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>

namespace sandglass::server {

ProcessState ReadOwnProcessState() {
  ProcessState state;
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    if (key == "VmRSS:") {
      status >> state.resident_bytes;
      state.resident_bytes *= 1024;
    } else if (key == "Threads:") {
      status >> state.threads;
    }
    status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  std::error_code error;
  std::filesystem::directory_iterator fds("/proc/self/fd", error);
  for (const std::filesystem::directory_iterator end; !error && fds != end;
       fds.increment(error)) {
    ++state.open_fds;
  }
  if (state.open_fds > 0) --state.open_fds;  // the iterator's own descriptor
  rlimit max{};
  if (::getrlimit(RLIMIT_NOFILE, &max) == 0) {
    state.max_open_fds = static_cast<uint32_t>(
        std::min<rlim_t>(max.rlim_cur, std::numeric_limits<uint32_t>::max()));
  }
  return state;
}

}  // namespace sandglass::server
