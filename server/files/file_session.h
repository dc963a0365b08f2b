#ifndef SANDGLASS_SERVER_FILES_FILE_SESSION_H_
#define SANDGLASS_SERVER_FILES_FILE_SESSION_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "sandbox/files/file_agent_client.h"
#include "server/base/cancel_token.h"
#include "server/identity/identity.h"
#include "server/session/session.h"
#include "server/session/session_table.h"

namespace sandglass::server {

// Ends a call on files early, when its client has gone or its session has
// ended. May outlive the call. Thread-safe.
class FileCallStop {
 public:
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);
  CancelToken& cancel() { return cancel_; }
  bool stopped() const { return cancel_.reason().has_value(); }

  // Holds a file that the call reads. It is closed when the session ends, so
  // that no slow client keeps a jail's memory.
  void Hold(os::Fd file) ABSL_LOCKS_EXCLUDED(mutex_);
  // Reads like pread(2). Returns nullopt when the call was stopped.
  std::optional<ssize_t> Read(char* data, size_t size, uint64_t offset)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  CancelToken cancel_;
  absl::Mutex mutex_;
  os::Fd file_ ABSL_GUARDED_BY(mutex_);
};

// One call's hold on a session and on its file agent. Use it from one thread at
// a time.
class FileSession {
 public:
  // Whether an operation is done at once or may take long.
  enum class Work { kShort, kLong };

  // Waits for the jail and its agent, so it must never be called on gRPC's
  // threads.
  static absl::StatusOr<std::unique_ptr<FileSession>> Open(
      SessionTable& sessions, const Identity& caller,
      const std::string& session_id, std::shared_ptr<FileCallStop> stop);

  sandbox::FileAgent& agent() { return *agent_; }
  sandbox::FileLimits Limits(Work work = Work::kShort) const;
  bool stopped() const { return stop_->stopped(); }
  // Returns the error of an operation that has just ended, if it failed. An
  // agent that doesn't answer is given up; after long work that timed out, this
  // waits for a short call to see whether the agent answers.
  absl::Status Check(sandbox::FileResult result, absl::string_view path,
                     Work work = Work::kShort);
  // The call has done with files, and goes on as a connection.
  void BecomeConnection() { use_.Change(Session::UseKind::kConnection); }
  // Does Session::Save; to be called before a change is acknowledged.
  absl::Status Save() { return use_.session().Save(); }

 private:
  FileSession(SessionUse use, std::shared_ptr<FileCallStop> stop,
              SharedAgent agent)
      : use_(std::move(use)),
        stop_(std::move(stop)),
        agent_(std::move(agent)) {}
  // Whether the agent still answers, after a call that `timed_out`.
  bool Answers(Work timed_out);

  SessionUse use_;
  const std::shared_ptr<FileCallStop> stop_;
  const SharedAgent agent_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_FILES_FILE_SESSION_H_
