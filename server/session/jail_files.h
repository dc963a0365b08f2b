#ifndef SANDGLASS_SERVER_SESSION_JAIL_FILES_H_
#define SANDGLASS_SERVER_SESSION_JAIL_FILES_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "sandbox/files/file_agent_client.h"
#include "server/base/cancel_token.h"
#include "server/session/durable_files.h"
#include "server/session/file_archive.h"
#include "server/session/hosted_jail.h"
#include "server/session/jail_attachment.h"
#include "server/session/session_host.h"

namespace sandglass::server {

// The files in a session's jail: the agent that works on them, and where they
// come from and are kept. Thread-safe.
class JailFiles {
 public:
  // `durable` is null when the session isn't durable. `archive` has the files
  // with which a fork's child begins; may be null. The archives of its own
  // forks take from `fork_memory`. What is passed by reference or pointer
  // outlives this object.
  JailFiles(HostedJail& jail, JailAttachment& attachment, DurableFiles* durable,
            SharedArchive archive, std::shared_ptr<DiskBudget> fork_memory)
      : jail_(jail),
        attachment_(attachment),
        fork_memory_(std::move(fork_memory)),
        durable_(durable),
        archive_(std::move(archive)) {}

  // As the methods of SessionHost: Files, ForgetFiles, Save, Fork.
  absl::StatusOr<SharedAgent> Agent(CancelToken& cancel)
      ABSL_LOCKS_EXCLUDED(attachment_.attaching(), jail_.mutex());
  void ForgetAgent(const sandbox::FileAgent& agent)
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  absl::Status Save() ABSL_LOCKS_EXCLUDED(saves_, attachment_.attaching(),
                                          keeping_, jail_.mutex());
  absl::StatusOr<SharedArchive> Fork(CancelToken& cancel)
      ABSL_LOCKS_EXCLUDED(jail_.forking(), saves_, attachment_.attaching(),
                          keeping_, jail_.mutex());
  // Ends all saving, for good.
  void EndSaving();

  // Puts the files that were kept into the jail that has just come. Called with
  // the attachment's lock held.
  absl::Status Fill(CancelToken& cancel)
      ABSL_LOCKS_EXCLUDED(keeping_, jail_.mutex());
  // The jail is gone, and the agent with it. With HostedJail::mutex held.
  void LoseAgent();

 private:
  absl::StatusOr<SharedAgent> OpenAgent(CancelToken& cancel)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(attachment_.attaching())
          ABSL_LOCKS_EXCLUDED(jail_.mutex());
  absl::Status SaveNow()
      ABSL_LOCKS_EXCLUDED(attachment_.attaching(), keeping_, jail_.mutex());
  // Waits until all processes stand still.
  absl::Status AwaitFrozen(CancelToken& cancel)
      ABSL_LOCKS_EXCLUDED(jail_.mutex());

  HostedJail& jail_;
  JailAttachment& attachment_;
  const std::shared_ptr<DiskBudget> fork_memory_;
  CancelToken ending_;  // ends saving

  // Of several threads in Save at the same time, one does the work for all,
  // without this lock.
  absl::Mutex saves_ ABSL_ACQUIRED_AFTER(jail_.forking());
  absl::CondVar save_over_;
  bool saving_ ABSL_GUARDED_BY(saves_) = false;
  uint64_t saves_begun_ ABSL_GUARDED_BY(saves_) = 0;
  uint64_t saves_over_ ABSL_GUARDED_BY(saves_) = 0;
  absl::Status save_result_ ABSL_GUARDED_BY(saves_);

  absl::Mutex keeping_ ABSL_ACQUIRED_AFTER(attachment_.attaching())
      ABSL_ACQUIRED_BEFORE(jail_.mutex());
  DurableFiles* const durable_ ABSL_PT_GUARDED_BY(keeping_);

  SharedAgent agent_ ABSL_GUARDED_BY(jail_.mutex());
  // Null as soon as the files are in the jail.
  SharedArchive archive_ ABSL_GUARDED_BY(jail_.mutex());
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_JAIL_FILES_H_
