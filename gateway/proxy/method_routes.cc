#include "gateway/proxy/method_routes.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "sandglass/v1/exec_service.pb.h"
#include "sandglass/v1/file_service.pb.h"
#include "sandglass/v1/layer_service.pb.h"
#include "sandglass/v1/operator_service.pb.h"
#include "sandglass/v1/policy_service.pb.h"
#include "sandglass/v1/sandbox_service.pb.h"
#include "sandglass/v1/session_service.pb.h"

namespace sandglass::gateway {
namespace {

using Table = std::map<std::string, MethodRoute, std::less<>>;

// Those that aren't here are about something that the request names.
const std::map<std::string_view, Route>& Exceptions() {
  static const auto* const exceptions = new std::map<std::string_view, Route>{
      {"RunCode", Route::kRun},
      {"StreamRunCode", Route::kRun},
      {"BuildLayer", Route::kRun},
      {"CreateSession", Route::kSession},
      {"GetOrCreateSession", Route::kNamesake},
      {"GetServerInfo", Route::kAny},
      {"CheckProfile", Route::kAny},
      {"TestRun", Route::kAny},
      {"GetStatus", Route::kAny},
      {"ListRuns", Route::kEvery},
      {"ListSessions", Route::kEvery},
      {"ListApprovals", Route::kEvery},
      {"ListLayers", Route::kEvery},
      {"RemoveLayer", Route::kEvery},
      {"GetUsage", Route::kEvery}};
  return *exceptions;
}

Table MakeTable() {
  Table table;
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  for (const char* name :
       {"SandboxService", "SessionService", "FileService", "ExecService",
        "PolicyService", "LayerService", "OperatorService"}) {
    const auto* service =
        pool->FindServiceByName(absl::StrCat("sandglass.v1.", name));
    if (service == nullptr) continue;
    for (int i = 0; i < service->method_count(); ++i) {
      const auto* method = service->method(i);
      const auto exception = Exceptions().find(method->name());
      table[absl::StrCat("/", service->full_name(), "/", method->name())] = {
          method,
          exception == Exceptions().end() ? Route::kNamed : exception->second};
    }
  }
  return table;
}

}  // namespace

const MethodRoute* FindRoute(std::string_view path) {
  static const Table* const table = new Table(MakeTable());
  const auto found = table->find(path);
  return found == table->end() ? nullptr : &found->second;
}

}  // namespace sandglass::gateway
