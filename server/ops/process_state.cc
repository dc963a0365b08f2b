#include "server/ops/process_state.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>

namespace sandglass::server {

void FillProcess(v1::GetStatusResponse& response) {
  std::ifstream status("/proc/self/status");
  uint64_t number = 0;
  for (std::string key; status >> key;) {
    if (key == "VmRSS:" && status >> number) {
      response.set_resident_bytes(number * 1024);
    } else if (key == "Threads:" && status >> number) {
      response.set_threads(static_cast<uint32_t>(number));
    }
    status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  std::error_code error;
  std::filesystem::directory_iterator fds("/proc/self/fd", error);
  uint32_t open_fds = 0;
  for (const std::filesystem::directory_iterator end; !error && fds != end;
       fds.increment(error)) {
    ++open_fds;
  }
  if (open_fds > 0) --open_fds;  // the iterator's own descriptor
  response.set_open_fds(open_fds);
  rlimit max{};
  if (::getrlimit(RLIMIT_NOFILE, &max) == 0) {
    response.set_max_open_fds(static_cast<uint32_t>(
        std::min<rlim_t>(max.rlim_cur, std::numeric_limits<uint32_t>::max())));
  }
}

}  // namespace sandglass::server
