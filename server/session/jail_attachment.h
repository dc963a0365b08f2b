#ifndef SANDGLASS_SERVER_SESSION_JAIL_ATTACHMENT_H_
#define SANDGLASS_SERVER_SESSION_JAIL_ATTACHMENT_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "sandbox/jail/jail.h"
#include "sandbox/yard/sandbox.h"
#include "server/base/cancel_token.h"
#include "server/job/job.h"
#include "server/job/language_gate.h"
#include "server/job/refused_calls.h"
#include "server/job/run_listener.h"
#include "server/job/session_spec.h"
#include "server/layers/jail_layer.h"
#include "server/layers/library_request.h"
#include "server/pool/jail_pool.h"
#include "server/session/hosted_jail.h"
#include "server/session/session_copy.h"

namespace sandglass::server {

class JailFiles;
class JailKernels;

// What sessions' jails are made from.
struct JailHostParts {
  sandbox::Sandbox* sandbox = nullptr;
  JailPool* pool = nullptr;
  // Whether what a language's kernel is started from is there.
  const LanguageGate* languages = nullptr;
  LibraryFinder* libraries = nullptr;  // null: none can be had, as says:
  std::string no_libraries = "this daemon installs no libraries";
  // For files of forks that wait for their first use.
  std::shared_ptr<DiskBudget> fork_memory;
  RefusedCallLog* denied = nullptr;  // null when calls aren't traced
};

// The use for which a jail is fetched. If the default kernel comes with the
// jail, it belongs to `context`; `code` is its first cell.
struct FirstUse {
  std::string context;
  std::string code;
  RunListener* listener = nullptr;     // of an install; may be null
  const SessionSpec* guest = nullptr;  // as in SessionPlace
  std::optional<JailTaker> taker;      // of a run
};

// Gets a session its jail, with its libraries and the files that were kept, at
// the first use, and again when it died and those files are still there.
// Thread-safe.
class JailAttachment {
 public:
  // What is passed or pointed to outlives this object. `layer` is as in
  // SessionOrigin; `tenant` is the session's; `replaceable` says whether
  // another jail can replace a dead one. `files` and `kernels`, which aren't
  // used here yet, are told as the jail comes and goes.
  JailAttachment(const JailHostParts& parts, const SessionSpec& spec,
                 const JailLayer& layer, absl::string_view tenant,
                 bool replaceable, HostedJail& jail, JailFiles& files,
                 JailKernels& kernels)
      : parts_(parts),
        spec_(spec),
        layer_(layer),
        tenant_(tenant),
        replaceable_(replaceable),
        jail_(jail),
        files_(files),
        kernels_(kernels) {}

  // One thread gets the jail, or asks init for the file agent, and the others
  // wait for it.
  absl::Mutex& attaching() ABSL_LOCK_RETURNED(attaching_) { return attaching_; }

  // When this returns OK, there is a jail, though it may be dead by now. The
  // errors are those of RunJob. Blocks the calling thread.
  absl::Status Attach(const FirstUse& use, CancelToken& cancel)
      ABSL_LOCKS_EXCLUDED(attaching_, jail_.mutex());
  absl::Status AttachLocked(const FirstUse& use, CancelToken& cancel)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(attaching_)
          ABSL_LOCKS_EXCLUDED(jail_.mutex());

  // As SessionHost says.
  bool GiveUpJail(const std::string& why)
      ABSL_LOCKS_EXCLUDED(attaching_, jail_.mutex());
  std::string Death() const ABSL_LOCKS_EXCLUDED(jail_.mutex());
  std::string LayerId() const ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // The libraries in the jail for a run's answer. That they were installed is
  // reported only once.
  std::optional<UsedLibraries> ReportLibraries()
      ABSL_LOCKS_EXCLUDED(jail_.mutex());

 private:
  absl::Status AttachNew(const FirstUse& use, CancelToken& cancel)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(attaching_)
          ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // Gives `start` the session's libraries, for a jail that is still to come.
  absl::Status AcquireLibraries(const FirstUse& use, CancelToken& cancel,
                                Job& start) ABSL_LOCKS_EXCLUDED(jail_.mutex());
  absl::StatusOr<std::unique_ptr<sandbox::Jail>> AcquireJail(const Job& start,
                                                             Timings& timings);
  // Releases the jail; `why` is as in JailKernels::Lose.
  void Discard(const std::string& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(attaching_, jail_.mutex());

  const JailHostParts parts_;
  const SessionSpec& spec_;
  const JailLayer layer_;  // the one it was made with, or else without an id
  const std::string tenant_;
  const bool replaceable_;
  HostedJail& jail_;
  JailFiles& files_;
  JailKernels& kernels_;

  absl::Mutex attaching_ ABSL_ACQUIRED_AFTER(jail_.forking())
      ABSL_ACQUIRED_BEFORE(jail_.mutex());
  std::optional<UsedLibraries> libraries_ ABSL_GUARDED_BY(jail_.mutex());
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_JAIL_ATTACHMENT_H_
