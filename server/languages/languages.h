#ifndef SANDGLASS_SERVER_LANGUAGES_LANGUAGES_H_
#define SANDGLASS_SERVER_LANGUAGES_LANGUAGES_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "policy/language/language.h"
#include "server/base/cancel_token.h"
#include "server/job/job_runner.h"
#include "server/languages/prepared_store.h"
#include "server/live_policy/live_policy.h"

namespace sandglass::server {

// FAILED_PRECONDITION when an executable of the language is not installed in
// its image, with the name of the Debian package; when it is outside /usr,
// where no jail has it; or when it can't be used there for another reason, with
// that reason.
absl::Status CheckInstalled(const policy::Language& language);

// Finds out what the languages of this machine can do: asks each for its
// version, makes what has to be prepared and runs their canaries. All of this
// happens in jails, on threads of its own. Thread-safe.
class LanguageProbe {
 public:
  using ReadyFunction = std::function<void(const policy::Language&)>;
  // Called after each CheckCanaries with OK if all canaries did well, or else
  // with which did not.
  using CheckedFunction = std::function<void(const absl::Status& all_work)>;
  // `policy` and `runner` outlive the probe. Without a store nothing is
  // prepared. `ready` is called on the probe's threads, two at once perhaps,
  // for each language that is installed and whose preparation, if it has one,
  // went well; `checked` on that of whoever calls CheckCanaries, which the
  // probe's own does last.
  LanguageProbe(const LivePolicy& policy, std::optional<PreparedStore> store,
                JobRunner& runner, ReadyFunction ready = nullptr,
                CheckedFunction checked = nullptr);
  // Calls Stop().
  ~LanguageProbe();
  LanguageProbe(const LanguageProbe&) = delete;
  LanguageProbe& operator=(const LanguageProbe&) = delete;

  // The probe then tries no canaries by itself. Call it before Start.
  void SkipCanaries() { skip_canaries_ = true; }
  // Call once.
  void Start();
  // Cancels what is still running, CheckCanaries included, and waits for the
  // thread. May be called again.
  void Stop();
  // Returns false when the timeout came first.
  bool WaitForVersions(absl::Duration timeout) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Runs the canaries of all languages that are installed and prepared, by the
  // policy in force, one after another on the calling thread. Remembers which
  // failed, in place of what was known before; what can't be tried stays as it
  // was known. Called by the probe's own thread, and by whoever has put another
  // policy in force. kFailed runs only those of languages that failed.
  enum class Which { kAll, kFailed };
  void CheckCanaries(Which which = Which::kAll)
      ABSL_LOCKS_EXCLUDED(mutex_, checking_);

  // Whether programs in the language can run now under the profile.
  // FAILED_PRECONDITION: it is not installed, could not be prepared, or its
  // canary failed under the profile's filter. UNAVAILABLE with RetryInfo: it is
  // being prepared.
  absl::Status Available(const policy::Language& language,
                         const policy::Profile& profile) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for whichever profile suits it best.
  absl::Status Available(const policy::Language& language) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether everything that is prepared for it is there; errors as above.
  absl::Status Prepared(const policy::Language& language) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // True while the language's preparation is under way.
  bool Preparing(const policy::Language& language) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // True until its canary has shown whether it works.
  bool Checking(const policy::Language& language) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The first line that the runtime printed, printable ASCII, at most 128
  // bytes; empty as long as it is not known. Runtimes of an image other than
  // the host's are asked later than those of the host.
  std::string Version(const policy::Language& language) const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // The name of a language in messages and maps.
  static std::string KeyOf(const policy::Language& language);
  void Probe();
  // Takes over what an earlier start prepared, before anything is run.
  void AdoptStored() ABSL_LOCKS_EXCLUDED(mutex_);
  void AskVersions(bool of_host) ABSL_LOCKS_EXCLUDED(mutex_);
  // Two at a time: those that take next to no time first, then those without
  // which languages can't be used, then those that only make languages faster.
  void PrepareAll() ABSL_LOCKS_EXCLUDED(mutex_);
  void PrepareTwoAtATime(absl::Span<const policy::Language* const> languages)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Prepare(const policy::Language& language) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status MakePrepared(const policy::Language& language);
  absl::Status FillDraft(const policy::Language& language,
                         PreparedStore::Draft& draft);
  // Removes from the store what no language has used for long.
  void RemoveUnused();
  // Checks what has to be there before it makes sense to run anything.
  absl::Status Usable(const policy::Language& language) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // How the canaries of a language did: the first failure, or OK.
  using ByFilter = std::map<std::string, absl::Status>;
  // Runs the language's canaries. `before` is what was known.
  ByFilter CheckOne(const PolicySet& policy, const policy::Language& language,
                    const ByFilter& before);
  absl::StatusOr<std::string> AskVersion(const policy::Language& language,
                                         const policy::Profile& profile);
  // Runs a command that must end well.
  absl::StatusOr<JobResult> RunTool(const Job& job, RunListener* listener);

  const LivePolicy& policy_;
  const policy::LanguageTable& languages_;  // that of every policy
  const std::optional<PreparedStore> store_;
  JobRunner& runner_;
  const ReadyFunction ready_;
  const CheckedFunction checked_;
  bool skip_canaries_ = false;
  CancelToken cancel_;
  // Held by the one who checks.
  absl::Mutex checking_ ABSL_ACQUIRED_BEFORE(mutex_);
  mutable absl::Mutex mutex_;
  // Keyed by id and image.
  std::map<std::string, std::string> versions_ ABSL_GUARDED_BY(mutex_);
  // How the preparation ended, keyed in the same way; no entry for languages
  // that have none or whose preparation is still under way.
  std::map<std::string, absl::Status> prepared_ ABSL_GUARDED_BY(mutex_);
  // Keyed in the same way.
  std::map<std::string, ByFilter> canaries_ ABSL_GUARDED_BY(mutex_);
  bool checked_once_ ABSL_GUARDED_BY(mutex_) = false;
  bool versions_known_ ABSL_GUARDED_BY(mutex_) = false;
  // The keys of all that is prepared at this start; none before that is known.
  std::optional<std::set<std::string>> planned_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LANGUAGES_LANGUAGES_H_
