#ifndef SANDGLASS_SERVER_SESSION_JAIL_HOST_H_
#define SANDGLASS_SERVER_SESSION_JAIL_HOST_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sandbox/files/file_agent_client.h"
#include "server/base/cancel_token.h"
#include "server/session/durable_files.h"
#include "server/session/file_archive.h"
#include "server/session/hosted_jail.h"
#include "server/session/jail_attachment.h"
#include "server/session/jail_files.h"
#include "server/session/jail_kernels.h"
#include "server/session/jail_processes.h"
#include "server/session/session_copy.h"
#include "server/session/session_host.h"

namespace sandglass::server {

// A session on a jail of this machine. It gets the jail with its first use: for
// the default kernel an idle one in which a zygote's child waits, so that the
// kernel is there at once.
//
// Each concern has a class. Kernels use files, commands' processes look at
// kernels, all of them use the attachment, and everything uses the jail itself;
// the other way, JailAttachment only tells files and kernels when a jail comes
// or goes.
//
// The order of their locks, of which any may be left out:
//   1. HostedJail::forking       while a fork stops all processes; shared while
//                                init is asked for a kernel or a program
//   2. JailFiles::saves_         for a moment; none of the others follows
//   3. JailAttachment::attaching while a thread gets the jail or file agent
//   4. JailFiles::keeping_       while files go to or come from the copy
//   5. HostedJail::mutex         for a moment; receivers of commands' news are
//                                called with it
class JailHost final : public SessionHost {
 public:
  // Whatever `parts` points to must outlive this object.
  JailHost(const JailHostParts& parts, const SessionSpec& spec,
           const SessionOrigin& origin = {});

  absl::StatusOr<JobResult> RunCell(const Job& job, CancelToken& cancel,
                                    RunListener* listener) override {
    return kernels_.RunCell(job, cancel, listener);
  }
  bool Interrupt(const std::string& context) override {
    return kernels_.Interrupt(context);
  }
  void EndKernel(const std::string& context, const std::string& why) override {
    kernels_.EndKernel(context, why);
  }
  absl::StatusOr<SharedAgent> Files(CancelToken& cancel) override {
    return files_.Agent(cancel);
  }
  void ForgetFiles(const sandbox::FileAgent& agent) override {
    files_.ForgetAgent(agent);
  }
  absl::Status Save() override { return files_.Save(); }
  absl::StatusOr<SharedArchive> Fork(CancelToken& cancel) override {
    return files_.Fork(cancel);
  }
  absl::Status Freeze(bool frozen) override { return jail_.Freeze(frozen); }
  bool GiveUpJail(const std::string& why) override {
    return attachment_.GiveUpJail(why);
  }
  void End() override;
  JailProcesses* processes() override { return &processes_; }
  std::vector<v1::KernelInfo> Kernels() const override {
    return kernels_.Kernels();
  }
  uint64_t MemoryBytes() const override { return jail_.MemoryBytes(); }
  std::string LayerId() const override { return attachment_.LayerId(); }
  std::string Death() const override { return attachment_.Death(); }

 private:
  const SessionSpec spec_;
  // Null when the session isn't durable; used by files_ alone. It goes after
  // the jail, whose file agent it knows.
  const std::unique_ptr<DurableFiles> durable_;
  HostedJail jail_;
  JailAttachment attachment_;
  JailFiles files_;
  JailKernels kernels_;
  JailProcesses processes_;
};

// Does one run that wants rich results and has no session: the host of a
// session with the same kernel is made for a single cell.
absl::StatusOr<JobResult> RunRich(const JailHostParts& parts, const Job& job,
                                  CancelToken& cancel, RunListener* listener);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_JAIL_HOST_H_
