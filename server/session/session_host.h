#ifndef SANDGLASS_SERVER_SESSION_SESSION_HOST_H_
#define SANDGLASS_SERVER_SESSION_SESSION_HOST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/cancel_token.h"
#include "server/job/job.h"
#include "server/job/session_spec.h"
#include "server/layers/jail_layer.h"

namespace sandglass::sandbox {
class FileAgent;
}  // namespace sandglass::sandbox

namespace sandglass::server {

class FileArchive;
class ProcessHost;
class SessionCopy;

// What is known of one kernel.
struct KernelStatus {
  enum class State { kIdle = 2, kBusy = 3, kDead = 4 };  // as v1::KernelState
  std::string context;
  State state = State::kIdle;
  uint32_t runs = 0;      // of the one there is, or was last
  uint32_t restarts = 0;  // kernels of this context before it
  std::string last_end;   // how the last of these ended
};

// Where the runs of one session happen: its jail, which comes with the first
// use, and its kernels. Thread-safe; runs of one context come one at a time.
class SessionHost {
 public:
  // Ends all that there is.
  virtual ~SessionHost() = default;

  // Runs one cell in the kernel of the job's context, which is started where
  // there is none, on the calling thread. Errors are as RunJob's.
  virtual absl::StatusOr<JobResult> RunCell(const Job& job, CancelToken& cancel,
                                            JobObserver* observer) = 0;
  // False when nothing runs in that context.
  virtual bool Interrupt(const std::string& context) = 0;
  // Ends the context's kernel and what it runs.
  virtual void EndKernel(const std::string& context,
                         const std::string& why) = 0;
  // Who does file operations in the jail; another one when the last has ended.
  // Waits for it on the calling thread. RESOURCE_EXHAUSTED and UNAVAILABLE are
  // as RunJob's.
  virtual absl::StatusOr<std::shared_ptr<sandbox::FileAgent>> Files(
      CancelToken& cancel) = 0;
  // This one doesn't answer; the next is another.
  virtual void ForgetFiles(const sandbox::FileAgent& agent) = 0;
  // A durable session's files as they are now are on the daemon's disk when
  // this returns OK; of others nothing is done. Waits on the calling thread;
  // calls at once share the work. RESOURCE_EXHAUSTED: they don't fit.
  virtual absl::Status Save() { return absl::OkStatus(); }
  // The files as of one moment, for children to begin with: as an archive, and
  // of a durable session in its copy. Waits on the calling thread.
  virtual absl::StatusOr<std::shared_ptr<const FileArchive>> Fork(
      CancelToken& /*cancel*/) {
    return absl::UnimplementedError("this host can't be forked");
  }
  // Stops all processes, or lets them go on.
  virtual absl::Status Freeze(bool frozen) = 0;
  // Kills everything now; what runs meanwhile ends soon. Nothing can be started
  // any more.
  virtual void End() = 0;

  // For commands; null where there are none.
  virtual ProcessHost* processes() { return nullptr; }

  virtual std::vector<KernelStatus> Kernels() const = 0;
  virtual uint64_t MemoryBytes() const = 0;
  // Of the libraries in its jail; empty while there are none.
  virtual std::string LayerId() const { return ""; }
  // Empty as long as the jail lives or there is none yet; else how it died.
  virtual std::string Death() const = 0;
};

// What a session's jail begins with, and where its files are kept; all may be
// absent.
struct SessionOrigin {
  std::string caller;  // whose it is, by name
  std::shared_ptr<SessionCopy> copy;
  std::shared_ptr<const FileArchive> archive;
  // Whose kernels the daemon's end took with it.
  std::vector<std::string> lost_contexts;
  // In which its libraries are; without an id they are found with its jail.
  JailLayer layer;
};

using MakeSessionHost = std::function<std::unique_ptr<SessionHost>(
    const SessionSpec& spec, const SessionOrigin& origin)>;

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_SESSION_HOST_H_
