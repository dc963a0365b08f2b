#ifndef SANDGLASS_SERVER_POOL_FILL_LOG_H_
#define SANDGLASS_SERVER_POOL_FILL_LOG_H_

#include "absl/status/status.h"
#include "server/pool/pool_targets.h"

namespace sandglass::server {

// What the log has to say about the latest fill of a key.
enum class FillChange { kNone, kFails, kWorksAgain };

// A failure is reported once; then again only after a fill has worked, or when
// it fails in another way.
FillChange NewsOf(const absl::Status& last, const absl::Status& now);
void LogFillNews(const JailKey& key, const absl::Status& status,
                 FillChange news);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_POOL_FILL_LOG_H_
