#ifndef SANDGLASS_SERVER_LANGUAGES_H_
#define SANDGLASS_SERVER_LANGUAGES_H_

#include <map>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "policy/language.h"
#include "server/cancel_token.h"
#include "server/policy_set.h"
#include "server/run_function.h"

namespace sandglass::server {

// FAILED_PRECONDITION that names the Debian package when the language's
// executable is not installed.
absl::Status CheckAvailable(const policy::Language& language);

// Asks each installed language for its version by running its version command
// in a jail, one after the other, in a thread of its own. Thread-safe.
class LanguageProbe {
 public:
  // `policy` outlives the probe.
  LanguageProbe(const PolicySet& policy, RunFunction run);
  // Cancels what is still running and waits for it.
  ~LanguageProbe();
  LanguageProbe(const LanguageProbe&) = delete;
  LanguageProbe& operator=(const LanguageProbe&) = delete;

  // Call once.
  void Start();
  // False when the timeout came first.
  bool WaitUntilDone(absl::Duration timeout) const ABSL_LOCKS_EXCLUDED(mutex_);

  // First line that the runtime printed, printable ASCII, at most 128 bytes;
  // empty as long as it is not known.
  std::string Version(const std::string& language_id) const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Probe();
  absl::StatusOr<std::string> AskVersion(const policy::Language& language);

  const PolicySet& policy_;
  const RunFunction run_;
  CancelToken cancel_;
  mutable absl::Mutex mutex_;
  std::map<std::string, std::string> versions_ ABSL_GUARDED_BY(mutex_);
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LANGUAGES_H_
