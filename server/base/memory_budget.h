#ifndef SANDGLASS_SERVER_BASE_MEMORY_BUDGET_H_
#define SANDGLASS_SERVER_BASE_MEMORY_BUDGET_H_

#include <cstdint>
#include <string>

namespace sandglass::server {

// The files to read; tests have a tree of their own.
struct MemoryFiles {
  std::string meminfo = "/proc/meminfo";
  std::string self_cgroup = "/proc/self/cgroup";
  std::string cgroup_root = "/sys/fs/cgroup";
};

// The memory in bytes that all runs may take together when the operator sets
// none: 70 % of what is available now (MemAvailable), or 70 % of the tightest
// memory limit of our own cgroup and those above it, if that is less.
// Understands cgroup v1, v2 and hybrid layouts. 1 GiB when nothing can be read.
uint64_t DefaultMemoryBudget(const MemoryFiles& files = {});

// The most memory in bytes that this process could ever have: the machine's
// memory (MemTotal), or the tightest cgroup limit as above, if that is less.
// The largest number when nothing can be read.
uint64_t MachineMemory(const MemoryFiles& files = {});

// By how many bytes of memory all that waits for work may grow now; negative:
// by so many it is to shrink. That is what is available of the machine
// (MemAvailable), or in the tightest of the cgroups as above (its limit less
// what is in use, of which files that nobody has used lately don't count), less
// a reserve of a sixteenth of MachineMemory, at most 1 GiB. The largest number
// when nothing can be read.
int64_t SpareMemory(const MemoryFiles& files = {});

// The same where files in memory that were used lately count as available,
// since the kernel drops those before it kills: what is missing here is held by
// programs.
int64_t SpareBesidePrograms(const MemoryFiles& files = {});

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_MEMORY_BUDGET_H_
