// What the server's unit tests share: a small policy, scripted runs, and
// listeners that remember what they heard.
#ifndef SANDGLASS_TESTS_UNIT_SERVER_SUPPORT_H_
#define SANDGLASS_TESTS_UNIT_SERVER_SUPPORT_H_

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"
#include "server/job/job_runner.h"
#include "server/job/run_id.h"
#include "server/live_policy/live_policy.h"
#include "server/live_policy/policy_set.h"
#include "server/run/run.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {

// In a fixture plain "Run" would be gtest's.
using RunPtr = std::shared_ptr<Run>;

inline PolicySet TestPolicy() {
  policy::Language shell{.id = "bash",
                         .name = "Bash",
                         .aliases = {"sh"},
                         .extensions = {".sh"},
                         .source_file = "main.sh",
                         .run = {"/bin/sh", "${source}"},
                         .version = {"/bin/sh", "--version"},
                         .env = {{"BASH_ENV_LAYER", "language"}},
                         .package = "bash"};
  shell.kernel = policy::KernelRecipe{.command = {"/bin/sh", "kernel"}};
  policy::Language absent{.id = "absent",
                          .name = "Absent",
                          .extensions = {".absent"},
                          .source_file = "main.absent",
                          .run = {"/nonexistent/absent", "${source}"},
                          .version = {"/nonexistent/absent", "-v"},
                          .package = "absent-runtime"};
  policy::Profile standard{.name = "default", .description = "for tests"};
  standard.maximum.memory_bytes = uint64_t{512} << 20;
  policy::Profile narrow{
      .name = "narrow", .languages = {"absent"}, .env = {{"LAYER", "profile"}}};
  auto languages = policy::LanguageTable::Create({shell, absent});
  EXPECT_TRUE(languages.ok()) << languages.status();
  auto set = PolicySet::Create(*std::move(languages), {standard, narrow});
  EXPECT_TRUE(set.ok()) << set.status();
  return *std::move(set);
}

inline v1::RunCodeRequest GoodRequest(const std::string& code = "echo hi") {
  v1::RunCodeRequest request;
  request.set_language("bash");
  request.set_code(code);
  return request;
}

inline JobResult OkResult(const Job& job, const std::string& output) {
  JobResult result;
  result.limits = job.limits;
  result.facts.wait_status = 0;
  result.facts.wall_time = absl::Milliseconds(5);
  result.facts.stdout_bytes = output.size();
  result.verdict = policy::Decide(result.facts, job.limits);
  result.stdout_result = {.data = output, .total_bytes = output.size()};
  return result;
}

// A runner whose runs print their code, by what their code says:
//   "wait"  until Release() or the token fires
//   "compiled"  at once, after a compiler that had something to say
//   "stay"  until Release(), whatever the token says
//   "fail"  our own side fails
//   "stray" it was cancelled by nobody that the run knows of
//   else    at once
class ScriptedRuns final : public JobRunner {
 public:
  absl::StatusOr<JobResult> Run(const Job& job, CancelToken& cancel,
                                RunListener* listener) override
      ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      ++started_;
      jobs_.push_back(job.limits);
    }
    if (listener != nullptr) {
      if (job.code == "compiled") {
        listener->OnCompiled(OkResult(job, "a warning"));
      }
      listener->OnStarted(job);
      listener->OnOutput(Stream::kStdout, job.code, 0, absl::Milliseconds(6));
    }
    if (job.code == "fail") return absl::InternalError("mount_proc: EPERM");
    if (job.code == "stray") return absl::CancelledError("nobody waits for it");
    JobResult result = OkResult(job, job.code);
    while (job.code == "stay" && !Released()) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    if (job.code == "wait") {
      while (!Released()) {
        if (const auto reason = cancel.reason()) {
          result.facts.kill = policy::Kill{.reason = *reason};
          result.facts.wait_status = 9;
          result.verdict = policy::Decide(result.facts, job.limits);
          break;
        }
        absl::SleepFor(absl::Milliseconds(1));
      }
    }
    return result;
  }
  void Release() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    released_ = true;
  }
  bool Released() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return released_;
  }
  int started() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return started_;
  }
  std::vector<policy::Limits> limits() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return jobs_;
  }

 private:
  mutable absl::Mutex mutex_;
  bool released_ ABSL_GUARDED_BY(mutex_) = false;
  int started_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<policy::Limits> jobs_ ABSL_GUARDED_BY(mutex_);
};

class RecordingListener : public RunListener {
 public:
  void OnCompiled(const JobResult& compile) override {
    absl::MutexLock lock(&mutex_);
    compiles_.push_back(compile.verdict.outcome);
  }
  void OnStarted(const Job&) override {
    absl::MutexLock lock(&mutex_);
    ++starts_;
  }
  void OnOutput(Stream, std::string_view data, uint64_t,
                absl::Duration) override {
    absl::MutexLock lock(&mutex_);
    output_.append(data);
  }
  void OnRich(const RichOutput& output, absl::Duration) override {
    absl::MutexLock lock(&mutex_);
    output_.append(output.data.front().second);
  }
  void OnEnd(const RunEnd& end) override {
    absl::MutexLock lock(&mutex_);
    ends_.push_back(end);
  }
  // The end, which must come within 10 s.
  RunEnd WaitForEnd() {
    absl::MutexLock lock(&mutex_);
    const auto ended = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return !ends_.empty();
    };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&ended), absl::Seconds(10))) {
      ADD_FAILURE() << "the run did not end";
      return {.status = absl::DeadlineExceededError("no end")};
    }
    return ends_.front();
  }
  size_t ends() const {
    absl::MutexLock lock(&mutex_);
    return ends_.size();
  }
  int starts() const {
    absl::MutexLock lock(&mutex_);
    return starts_;
  }
  std::vector<policy::Outcome> compiles() const {
    absl::MutexLock lock(&mutex_);
    return compiles_;
  }
  std::string output() const {
    absl::MutexLock lock(&mutex_);
    return output_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<policy::Outcome> compiles_ ABSL_GUARDED_BY(mutex_);
  int starts_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string output_ ABSL_GUARDED_BY(mutex_);
  std::vector<RunEnd> ends_ ABSL_GUARDED_BY(mutex_);
};

// Polls until `done` says so; false after 10 s.
template <typename Predicate>
bool Eventually(const Predicate& done) {
  for (int i = 0; i < 10'000; ++i) {
    if (done()) return true;
    absl::SleepFor(absl::Milliseconds(1));
  }
  return false;
}

inline Identity User(uid_t uid) {
  return LocalIdentity(uid, static_cast<gid_t>(uid));
}

inline Identity Approver(uid_t uid) {
  Identity identity = User(uid);
  identity.scopes.Add(Scope::kApprove);
  return identity;
}

inline std::shared_ptr<Run> MakeRun(const Identity& caller,
                                    uint64_t memory_bytes = 1 << 20,
                                    uint64_t request_bytes = 100,
                                    const std::string& request_id = "",
                                    const std::string& fingerprint = "") {
  RunOrigin origin{.run_id = NewRunId(),
                   .caller = caller,
                   .language = "bash",
                   .profile = "default",
                   .request_id = request_id,
                   .fingerprint = fingerprint,
                   .request_bytes = request_bytes,
                   .create_time = absl::Now(),
                   .accepted = Now()};
  Job job;
  job.limits.memory_bytes = memory_bytes;
  return std::make_shared<Run>(std::move(origin), std::move(job));
}

using testing::TempDir;

}  // namespace sandglass::server

#endif  // SANDGLASS_TESTS_UNIT_SERVER_SUPPORT_H_
