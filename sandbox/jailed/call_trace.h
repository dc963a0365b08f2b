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
// ask init instead of refusing a call, and has init refuse and count those
// calls. It never lets a call through. Not thread-safe.
class CallTrace {
 public:
  // `filter` is the filter of the jail's template.
  explicit CallTrace(absl::Span<const sock_filter> filter);

  // The same as the function StartProcess, with a filter that asks.
  pid_t StartProcess(const JailPlan& plan, const os::Fd& landlock_ruleset,
                     ProcessStart start, StartReport& report);

  // Appends the entries that have to be polled. Serve expects the same entries
  // back after poll(2), and answers a bounded number of questions.
  void AddPolls(std::vector<struct pollfd>& polls) const;
  void Serve(absl::Span<const struct pollfd> polls);

  // The calls that were refused to a process and to everything that it started;
  // call after it was reaped. Later calls of those processes are still refused,
  // but not reported any more.
  internal::RefusedCalls Collect(pid_t pid);

 private:
  struct Traced {
    pid_t pid;  // -1: its calls were taken
    os::Fd listener;
    internal::RefusedCalls calls;
  };
  // The errno with which the filter refuses this call.
  int ErrorOf(const os::AskedCall& call) const;
  static void Count(const os::AskedCall& call, int error,
                    internal::RefusedCalls& calls);

  const policy::BpfProgram filter_;
  const policy::BpfProgram asking_;
  std::list<Traced> traced_;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_CALL_TRACE_H_
