#include "server/session/jail_host.h"

#include <cstdint>
#include <memory>
#include <variant>

#include "server/identity/identity.h"

namespace sandglass::server {
namespace {

// Allowed in addition, since files can have more names than there may be files.
constexpr uint32_t kMoreNames = 10'000;

std::unique_ptr<DurableFiles> FilesOf(const SessionSpec& spec,
                                      const SessionOrigin& origin) {
  if (origin.copy == nullptr) return nullptr;
  return std::make_unique<DurableFiles>(origin.copy,
                                        spec.limits.max_files + kMoreNames,
                                        spec.limits.workspace_bytes);
}

// The caller's share of what all callers have together.
std::shared_ptr<DiskBudget> ShareOf(const std::shared_ptr<DiskBudget>& memory,
                                    const std::string& caller) {
  return memory == nullptr ? nullptr : memory->ShareOf(caller);
}

}  // namespace

JailHost::JailHost(const JailHostParts& parts, const SessionSpec& spec,
                   const SessionOrigin& origin)
    : spec_(spec),
      durable_(FilesOf(spec, origin)),
      jail_(parts.denied,
            {.language = spec.language == nullptr ? "" : spec.language->id,
             .profile = spec.profile->name}),
      attachment_(parts, spec_, origin.layer, TenantOf(origin.caller),
                  /*replaceable=*/durable_ != nullptr, jail_, files_, kernels_),
      files_(jail_, attachment_, durable_.get(), origin.archive,
             ShareOf(parts.fork_memory, origin.caller)),
      kernels_(*parts.languages, spec_, origin.lost_contexts, jail_,
               attachment_, files_),
      processes_(jail_, attachment_, kernels_) {}

void JailHost::End() {
  files_.EndSaving();
  jail_.End();
}

absl::StatusOr<JobResult> RunRich(const JailHostParts& parts, const Job& job,
                                  CancelToken& cancel, RunListener* listener) {
  return JailHost(parts, std::get<OwnKernel>(job.target).spec,
                  {.layer = job.layer})
      .RunCell(job, cancel, listener);
}

}  // namespace sandglass::server
