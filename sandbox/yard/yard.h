#ifndef SANDGLASS_SANDBOX_YARD_YARD_H_
#define SANDGLASS_SANDBOX_YARD_YARD_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "internal/spawner.pb.h"
#include "sandbox/host/cgroup_tree.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/uid_slice.h"

namespace sandglass::sandbox {

struct YardOptions {
  std::string spawner_path;
  std::string root;  // built by BuildYardRoot
  UidSlice uids;
  internal::SpawnerConfig config;
  int template_ledger = -1;  // borrowed, as in SandboxOptions
  // What a zygote loads and executes; only with config.zygote.
  std::string zygote_library;
  std::string zygote_script;
};

struct Yard {
  os::Fd channel;  // SOCK_SEQPACKET to the spawner
  os::Fd pidfd;    // of the spawner
  pid_t pid = -1;
};

// Starts a child in namespaces and with a slice of uids of its own, where it
// becomes the spawner, and waits until the spawner is ready (at most 10 s).
// Closing the channel ends the yard with everything in it. Preconditions: root,
// single-threaded.
absl::StatusOr<Yard> StartYard(const YardOptions& options,
                               const YardCgroups& cgroups);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_YARD_YARD_H_
