#ifndef SANDGLASS_SERVER_JOB_REFUSED_CALLS_H_
#define SANDGLASS_SERVER_JOB_REFUSED_CALLS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "sandbox/wire/refused_calls.h"
#include "sandbox/yard/sandbox.h"

namespace sandglass::server {

// One refused call in a form for people: "unshare(0x10000000, 0, ...)=EPERM".
// It shows only the first three arguments, and addresses as "..."; calls of
// other architectures are named by number ("i386:102"). Printable ASCII.
std::string DescribeCall(const sandbox::RefusedCall& call);

// All refused calls with their counts and with "; " in between, such as
// "setns(3, 0, 0)=EPERM x2". At most 32, then the number of further kinds.
// "none" when there are none.
std::string DescribeCalls(const sandbox::RefusedCalls& calls);

// FAILED_PRECONDITION when programs under one of the filters could not be
// traced: a filter has to allow the calls that hand the listener over (sendmsg)
// and that start the program.
absl::Status CheckTraceable(
    const std::vector<sandbox::JailTemplate>& templates);

// Makes the reports of --trace-syscalls: in the log, a line "syscalls_denied"
// for each run and each process of a session, and at the end one for each
// language and profile. Others that are to hear of refused calls are told, too.
// Thread-safe.
class RefusedCallLog {
 public:
  struct Source {
    std::string run_id;  // empty for a process of a session or of rich results
    std::string language;  // id
    std::string profile;
  };
  using Reporter = std::function<void(const Source& source,
                                      const sandbox::RefusedCalls& calls)>;
  explicit RefusedCallLog(Reporter tell = {}) : tell_(std::move(tell)) {}

  void Record(const Source& source, const sandbox::RefusedCalls& calls)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes the lines "syscalls_denied_in_all".
  void LogSummary() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Total {
    uint64_t runs = 0;
    std::map<std::string, uint64_t> counts;  // by call
    uint64_t others = 0;                     // calls that are in no count
  };
  const Reporter tell_;
  mutable absl::Mutex mutex_;
  // By language and profile.
  std::map<std::pair<std::string, std::string>, Total> totals_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_REFUSED_CALLS_H_
