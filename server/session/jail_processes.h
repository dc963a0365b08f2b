#ifndef SANDGLASS_SERVER_SESSION_JAIL_PROCESSES_H_
#define SANDGLASS_SERVER_SESSION_JAIL_PROCESSES_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "server/base/cancel_token.h"
#include "server/session/hosted_jail.h"
#include "server/session/jail_attachment.h"
#include "server/session/jail_kernels.h"
#include "server/session/process_host.h"

namespace sandglass::server {

// A session's jail as its commands see it.
class JailProcesses final : public ProcessHost {
 public:
  // Everything outlives this object.
  JailProcesses(HostedJail& jail, JailAttachment& attachment,
                const JailKernels& kernels)
      : jail_(jail), attachment_(attachment), kernels_(kernels) {}

  absl::Status Attach(CancelToken& cancel) override
      ABSL_LOCKS_EXCLUDED(jail_.forking(), attachment_.attaching(),
                          jail_.mutex());
  bool IsAttached() const override ABSL_LOCKS_EXCLUDED(jail_.mutex());
  os::Fd NewsFd() const override ABSL_LOCKS_EXCLUDED(jail_.mutex());
  absl::Status StartProcess(const sandbox::ProcessSpec& spec,
                            ProcessNewsHandler take) override
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  void DeliverNews() override ABSL_LOCKS_EXCLUDED(jail_.mutex());
  void SignalProcess(pid_t pid, int signal, bool to_group) override
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  void KillProcess(uint64_t id) override ABSL_LOCKS_EXCLUDED(jail_.mutex());
  void EndJail(const std::string& why) override { jail_.EndJail(why); }
  JailFacts Facts() const override ABSL_LOCKS_EXCLUDED(jail_.mutex());
  policy::UnchargedMemory ReadUncharged() const override
      ABSL_LOCKS_EXCLUDED(jail_.mutex());

 private:
  HostedJail& jail_;
  JailAttachment& attachment_;
  const JailKernels& kernels_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_JAIL_PROCESSES_H_
