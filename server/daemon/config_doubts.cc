#include "server/daemon/config_doubts.h"

#include <sys/stat.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "policy/text/units.h"

namespace sandglass::server {

std::vector<std::string> ConfigDoubts(const Config& config,
                                      uint64_t machine_memory_bytes) {
  std::vector<std::string> doubts;
  const auto above_memory = [&](const char* setting, uint64_t bytes,
                                const char* otherwise) {
    if (bytes <= machine_memory_bytes) return;
    doubts.push_back(absl::StrCat(
        setting, ": ", policy::FormatBytes(bytes),
        " is more than the memory there is (",
        policy::FormatBytes(machine_memory_bytes),
        "): programs would be let in that the kernel then kills for want of "
        "it; lower it, or leave it out for ",
        otherwise));
  };
  above_memory("admission.memory_budget", config.admission.memory_budget_bytes,
               "70 % of what is free");
  if (config.pool.floor > 0) {
    above_memory("pool.memory_budget", config.pool.memory_budget_bytes,
                 "the default");
  }
  for (const auto& [setting, bound] :
       {std::pair("pool.ceiling", config.pool.ceiling),
        std::pair("pool.most_idle", config.pool.max_idle)}) {
    if (config.pool.floor <= bound) continue;
    doubts.push_back(absl::StrCat(
        "pool.floor: ", config.pool.floor, " is above ", setting, ", ", bound,
        ", which wins; raise that, or lower the floor"));
  }
  if (!config.listen.unix_path.empty() && (config.socket_mode & S_IWOTH) != 0) {
    doubts.push_back(absl::StrCat(
        "socket.mode: with ", absl::StrFormat("%04o", config.socket_mode),
        " everybody on this machine may connect, and so run programs; \"0660\" "
        "with a socket.group lets in a group alone"));
  }
  if (!config.metrics.listen.empty() && IsOpenToOthers(config.metrics.listen)) {
    doubts.push_back(absl::StrCat(
        "metrics.listen: ", config.metrics.listen,
        " can be reached from other machines, and nobody is asked who reads "
        "there; name a loopback address, or keep others out by a firewall"));
  }
  return doubts;
}

}  // namespace sandglass::server
