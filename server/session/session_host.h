#ifndef SANDGLASS_SERVER_SESSION_SESSION_HOST_H_
#define SANDGLASS_SERVER_SESSION_SESSION_HOST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandglass/v1/session.pb.h"
#include "server/base/cancel_token.h"
#include "server/job/job.h"
#include "server/job/run_listener.h"
#include "server/job/session_spec.h"
#include "server/layers/jail_layer.h"

namespace sandglass::sandbox {
class FileAgent;
}  // namespace sandglass::sandbox

namespace sandglass::server {

class FileArchive;
class JailProcesses;
class SessionCopy;
using SharedAgent = std::shared_ptr<sandbox::FileAgent>;
using SharedArchive = std::shared_ptr<const FileArchive>;

// The place where the runs of one session are carried out: its jail, which it
// gets with the first use, and its kernels. Thread-safe; runs of one context
// come one at a time.
class SessionHost {
 public:
  // Ends everything that there is.
  virtual ~SessionHost() = default;

  // Runs one cell in the kernel of the job's context, on the calling thread;
  // the kernel is started if there is none. The errors are those of RunJob.
  virtual absl::StatusOr<JobResult> RunCell(const Job& job, CancelToken& cancel,
                                            RunListener* listener) = 0;
  // Returns false when nothing runs in that context.
  virtual bool Interrupt(const std::string& context) = 0;
  // Ends the context's kernel and what it runs.
  virtual void EndKernel(const std::string& context,
                         const std::string& why) = 0;
  // Returns the agent that does file operations in the jail; another one when
  // the last has ended. Waits for it on the calling thread. RESOURCE_EXHAUSTED
  // and UNAVAILABLE are as in RunJob.
  virtual absl::StatusOr<SharedAgent> Files(CancelToken& cancel) = 0;
  // Call it when this agent doesn't answer; the next call of Files returns
  // another.
  virtual void ForgetFiles(const sandbox::FileAgent& agent) = 0;
  // When this returns OK, a durable session's files as they are now are on the
  // daemon's disk; for other sessions it does nothing. Blocks the calling
  // thread; calls at the same time share the work. RESOURCE_EXHAUSTED: the
  // files don't fit.
  virtual absl::Status Save() { return absl::OkStatus(); }
  // Takes the files as they are at one moment, for children to begin with: as
  // an archive, or, of a durable session, in its copy. Blocks the calling
  // thread.
  virtual absl::StatusOr<SharedArchive> Fork(CancelToken& /*cancel*/) {
    return absl::UnimplementedError("this host can't be forked");
  }
  // Stops all processes, or lets them go on.
  virtual absl::Status Freeze(bool frozen) = 0;
  // Ends the jail, with all that is in it; the next use gets another. Returns
  // false, and does nothing, when there is none, a run goes on, or no other
  // jail could have the session's files.
  virtual bool GiveUpJail(const std::string& /*why*/) { return false; }
  // Kills everything now; runs that are going on end soon. Nothing can be
  // started any more.
  virtual void End() = 0;

  // The interface for commands; null when there are none.
  virtual JailProcesses* processes() { return nullptr; }

  virtual std::vector<v1::KernelInfo> Kernels() const = 0;
  virtual uint64_t MemoryBytes() const = 0;
  // The id of the layer with the libraries in its jail; empty while there are
  // none.
  virtual std::string LayerId() const { return ""; }
  // Says how the jail died; empty as long as it lives or there is none yet.
  virtual std::string Death() const = 0;
};

// What a session's jail begins with, and where its files are kept; everything
// may be absent.
struct SessionOrigin {
  std::string caller;  // the session's owner, by name
  std::shared_ptr<SessionCopy> copy;
  SharedArchive archive;
  // The contexts whose kernels ended together with the last daemon.
  std::vector<std::string> lost_contexts;
  // The layer with its libraries; without an id, they are looked up when the
  // jail comes.
  JailLayer layer;
};

using MakeSessionHost = std::function<std::unique_ptr<SessionHost>(
    const SessionSpec& spec, const SessionOrigin& origin)>;

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_SESSION_HOST_H_
