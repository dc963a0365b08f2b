// Runs a command under a system call policy and nothing else of a jail:
//
//   under_filter POLICY_DIRECTORY POLICY COMMAND [ARGUMENT...]
//
// With strace -f in front it shows which calls the policy refused. Exit code:
// the command's; 125 when the policy or the filter failed, 127 when the command
// could not be started.

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "policy/seccomp/seccomp.h"
#include "tests/support/filters/install_filter.h"

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr,
                 "usage: under_filter POLICY_DIRECTORY POLICY COMMAND "
                 "[ARGUMENT...]\n");
    return 125;
  }
  const auto policy = sandglass::policy::SeccompPolicy::Load(argv[1], argv[2]);
  if (!policy.ok()) {
    std::fprintf(stderr, "%s\n", policy.status().ToString().c_str());
    return 125;
  }
  const auto program = policy->Compile();
  if (!program.ok()) {
    std::fprintf(stderr, "%s\n", program.status().ToString().c_str());
    return 125;
  }
  if (!sandglass::testing::InstallFilter(*program)) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    std::fprintf(stderr, "installing the filter: %s\n", std::strerror(errno));
    return 125;
  }
  execvp(argv[3], argv + 3);
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  std::fprintf(stderr, "%s: %s\n", argv[3], std::strerror(errno));
  return 127;
}
