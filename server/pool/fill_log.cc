#include "server/pool/fill_log.h"

#include <string>

#include "sandbox/yard/spawner_event.h"
#include "server/base/log.h"

namespace sandglass::server {

FillChange NewsOf(const absl::Status& last, const absl::Status& now) {
  if (now == last) return FillChange::kNone;
  if (!now.ok()) return FillChange::kFails;
  return last.ok() ? FillChange::kNone : FillChange::kWorksAgain;
}

void LogFillNews(const JailKey& key, const absl::Status& status,
                 FillChange news) {
  if (news == FillChange::kFails) {
    // The spawner logs it itself when a zygote ends.
    Log(sandbox::IsZygoteStarting(status) ? LogLevel::kInfo
                                          : LogLevel::kWarning,
        "pool_fill_failed",
        {{"kind", key.kind},
         {"profile", key.profile},
         {"code", absl::StatusCodeToString(status.code())},
         {"error", std::string(status.message())}});
  } else if (news == FillChange::kWorksAgain) {
    Log(LogLevel::kInfo, "pool_fill_works_again",
        {{"kind", key.kind}, {"profile", key.profile}});
  }
}

}  // namespace sandglass::server
