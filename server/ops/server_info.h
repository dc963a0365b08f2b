#ifndef SANDGLASS_SERVER_OPS_SERVER_INFO_H_
#define SANDGLASS_SERVER_OPS_SERVER_INFO_H_

#include "sandbox/host/host_probe.h"
#include "sandglass/v1/server_info.pb.h"
#include "server/admission/admission.h"
#include "server/base/clock.h"
#include "server/images/image_record.h"
#include "server/languages/languages.h"
#include "server/live_policy/live_policy.h"
#include "server/ops/operated_daemon.h"
#include "server/phases/compile_cache.h"
#include "server/pool/pool_targets.h"

namespace sandglass::server {

// The sources of the answer to GetServerInfo. What they point to must outlive
// this object.
struct ServerInfoSources {
  const LivePolicy* policy;
  const LanguageProbe* languages;
  const Admission* admission;
  sandbox::HostReport host;
  MonotonicTime started;
  const OperatedDaemon* daemon = nullptr;       // may be null
  const CompileCache* compile_cache = nullptr;  // may be null
  ImageRecords images;
};

v1::GetServerInfoResponse MakeServerInfo(const ServerInfoSources& sources);

// Parts of that answer that other answers show, too.
void FillPoolKind(const PoolKeyState& state, v1::PoolKind& kind);
void FillCompileCache(const CompileCacheState& state, v1::CompileCache& info);
void FillAdmission(const Admission& from, v1::Admission& admission);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OPS_SERVER_INFO_H_
