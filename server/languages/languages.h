#ifndef SANDGLASS_SERVER_LANGUAGES_LANGUAGES_H_
#define SANDGLASS_SERVER_LANGUAGES_LANGUAGES_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "policy/language/language.h"
#include "server/base/cancel_token.h"
#include "server/job/job_runner.h"
#include "server/languages/prepared_store.h"
#include "server/live_policy/live_policy.h"

namespace sandglass::server {

// FAILED_PRECONDITION that names the Debian package when an executable of the
// language is not installed in its image, or is outside /usr, where no jail has
// it; or that says why it can't be used there.
absl::Status CheckInstalled(const policy::Language& language);

// What the languages of this machine are: asks each for its version, makes what
// is to be prepared and runs their canaries, in jails, one after the other, in
// a thread of its own. Thread-safe.
class LanguageProbe {
 public:
  using ReadyFunction = std::function<void(const policy::Language&)>;
  // Hears after each CheckCanaries whether all canaries did well, or which
  // didn't.
  using CheckedFunction = std::function<void(const absl::Status& all_work)>;
  // `policy` and `runner` outlive the probe. Without a store nothing is
  // prepared. `ready` is called on the probe's thread for each language that is
  // installed and whose preparation, if it has one, went well; `checked` on
  // that of whoever calls CheckCanaries, which the probe's own does last.
  LanguageProbe(const LivePolicy& policy, std::optional<PreparedStore> store,
                JobRunner& runner, ReadyFunction ready = nullptr,
                CheckedFunction checked = nullptr);
  // Stops.
  ~LanguageProbe();
  LanguageProbe(const LanguageProbe&) = delete;
  LanguageProbe& operator=(const LanguageProbe&) = delete;

  // Tries no canaries by itself. Before Start.
  void SkipCanaries() { skip_canaries_ = true; }
  // Call once.
  void Start();
  // Cancels what is still running, also of CheckCanaries, and waits for the
  // thread. May be called again.
  void Stop();
  // False when the timeout came first.
  bool WaitForVersions(absl::Duration timeout) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Runs the canaries of all languages that are installed and prepared, by the
  // policy in force, one after another on the calling thread, and remembers
  // which failed, in place of what was known before; what can't be tried stays
  // as it was known. For the probe's own thread, and for whoever has put
  // another policy in force. kFailed: only of languages that failed.
  enum class Which { kAll, kFailed };
  void CheckCanaries(Which which = Which::kAll)
      ABSL_LOCKS_EXCLUDED(mutex_, checking_);

  // Whether programs in the language can run now under the profile.
  // FAILED_PRECONDITION: not installed, it could not be prepared, or its canary
  // failed under the profile's filter. UNAVAILABLE with RetryInfo: being
  // prepared.
  absl::Status Available(const policy::Language& language,
                         const policy::Profile& profile) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The same under whatever profile suits it best.
  absl::Status Available(const policy::Language& language) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether what is prepared for it is there; errors as above.
  absl::Status Prepared(const policy::Language& language) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // True while the language's preparation goes on.
  bool Preparing(const policy::Language& language) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // True until its canary has told whether it works.
  bool Checking(const policy::Language& language) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // First line that the runtime printed, printable ASCII, at most 128 bytes;
  // empty as long as it is not known. Runtimes of an image other than the
  // host's are asked later.
  std::string Version(const policy::Language& language) const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Probe();
  // What an earlier start prepared is there before anything is run.
  void TakeStored() ABSL_LOCKS_EXCLUDED(mutex_);
  void AskVersions(bool of_host) ABSL_LOCKS_EXCLUDED(mutex_);
  // One after another: what takes next to nothing, what languages can't be used
  // without, what only makes them faster.
  enum class Turn { kQuick, kNeeded, kOptional };
  static Turn TurnOf(const policy::Preparation& preparation);
  void PrepareAll(Turn turn) ABSL_LOCKS_EXCLUDED(mutex_);
  void Prepare(const policy::Language& language) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status MakePrepared(const policy::Language& language);
  absl::Status FillDraft(const policy::Language& language,
                         PreparedStore::Draft& draft);
  // What has to be there before it is of use to run anything.
  absl::Status Usable(const policy::Language& language) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // How its canaries did, by filter: the first failure, or OK.
  // `before` is what was known.
  std::map<std::string, absl::Status> CheckOne(
      const PolicySet& policy, const policy::Language& language,
      const std::map<std::string, absl::Status>& before);
  absl::StatusOr<std::string> AskVersion(const policy::Language& language,
                                         const policy::Profile& profile);
  // A command that must end well.
  absl::StatusOr<JobResult> RunTool(const Job& job, JobObserver* observer);

  const LivePolicy& policy_;
  const policy::LanguageTable& languages_;  // that of every policy
  const std::optional<PreparedStore> store_;
  JobRunner& runner_;
  const ReadyFunction ready_;
  const CheckedFunction checked_;
  bool skip_canaries_ = false;
  CancelToken cancel_;
  absl::Mutex checking_;  // one checks at a time; taken before mutex_
  mutable absl::Mutex mutex_;
  // By id and image.
  std::map<std::string, std::string> versions_ ABSL_GUARDED_BY(mutex_);
  // How the preparation ended, likewise; none for those that have none or go
  // on.
  std::map<std::string, absl::Status> prepared_ ABSL_GUARDED_BY(mutex_);
  // How the canaries of languages did, by id and image, then by filter.
  std::map<std::string, std::map<std::string, absl::Status>> canaries_
      ABSL_GUARDED_BY(mutex_);
  bool checked_once_ ABSL_GUARDED_BY(mutex_) = false;
  bool versions_known_ ABSL_GUARDED_BY(mutex_) = false;
  // All that is needed is prepared; what only makes a language faster may go
  // on.
  bool usable_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LANGUAGES_LANGUAGES_H_
