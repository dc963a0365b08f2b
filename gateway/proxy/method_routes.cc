#include "gateway/proxy/method_routes.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "server/base/api_services.h"

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
  for (const auto* service : server::ApiServices()) {
    // The gateway answers it itself.
    if (service->full_name() == "sandglass.v1.IdentityService") continue;
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
