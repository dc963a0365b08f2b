// One run of the daemon's own code against a far end that was taken over.
#ifndef SANDGLASS_TESTS_SECURITY_PROTOCOL_PROTOCOL_RUN_H_
#define SANDGLASS_TESTS_SECURITY_PROTOCOL_PROTOCOL_RUN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/job/job.h"
#include "tests/security/protocol/protocol_jail.h"

namespace sandglass::server {

// Nothing that one run makes the daemon hold may be larger.
inline constexpr int64_t kMaxGrowth = int64_t{64} << 20;

struct Ended {
  absl::StatusOr<JobResult> result = JobResult{};
  absl::Duration took;
  uint32_t made = 0, killed = 0;  // jails
};

// For a program that gets no more than a second.
Job SmallJob();
// The same in a jail with a runner.
Job RunnerJob();

// Runs the job to its end; the jail is given up then. Fails the test when it
// takes longer than `bound`, leaves a descriptor open, takes more memory than
// kMaxGrowth or leaves a jail that isn't killed.
Ended RunAgainst(const Attack& attack, const Job& job = SmallJob(),
                 absl::Duration bound = absl::Seconds(5));

// The run ended with an error of ours, and the jail was killed.
void ExpectBroken(const Ended& ended);
// The program's fate was as given.
void ExpectOutcome(const Ended& ended, policy::Outcome outcome);

}  // namespace sandglass::server

#endif  // SANDGLASS_TESTS_SECURITY_PROTOCOL_PROTOCOL_RUN_H_
