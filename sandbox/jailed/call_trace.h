#ifndef SANDGLASS_SANDBOX_JAILED_CALL_TRACE_H_
#define SANDGLASS_SANDBOX_JAILED_CALL_TRACE_H_

#include <linux/filter.h>
#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <list>
#include <vector>

#include "absl/types/span.h"
#include "internal/spawner.pb.h"
#include "policy/seccomp/seccomp.h"
#include "sandbox/jailed/program.h"
#include "sandbox/os/asked_calls.h"
#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// For jails whose refused calls are traced: starts processes with filters that
// ask init, refuses what their filter refuses, and counts. It never lets a call
// through. One thread.
class CallTrace {
 public:
  // `filter` is that of the jail's template.
  explicit CallTrace(absl::Span<const sock_filter> filter);

  // As the function of that name, with such a filter.
  pid_t StartProcess(const JailPlan& plan, const os::Fd& landlock_ruleset,
                     ProcessStart start, StartReport& report);

  // Appends what is to be polled; Serve takes the same entries back, polled,
  // and answers a bounded number of questions.
  void AddPolls(std::vector<struct pollfd>& polls) const;
  void Serve(absl::Span<const struct pollfd> polls);

  // What was refused to a process and all that it started, once it was reaped.
  // What those do later is refused as well, and not told.
  internal::RefusedCalls Take(pid_t pid);

 private:
  struct Traced {
    pid_t pid;  // -1: taken
    os::Fd listener;
    internal::RefusedCalls calls;
  };
  // The errno that the filter gives.
  int ErrorOf(const os::AskedCall& call) const;
  static void Count(const os::AskedCall& call, int error,
                    internal::RefusedCalls& calls);

  const policy::BpfProgram filter_;
  const policy::BpfProgram asking_;
  std::list<Traced> traced_;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_CALL_TRACE_H_
