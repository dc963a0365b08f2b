#include "gateway/proxy/method_routes.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "server/base/api_services.h"

namespace sandglass::gateway {
namespace {

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

RouteTable MakeTable() {
  RouteTable table;
  for (const auto* service : server::ApiServices()) {
    // The gateway answers it itself.
    if (service->full_name() == "sandglass.v1.IdentityService") continue;
    for (int i = 0; i < service->method_count(); ++i) {
      const auto* method = service->method(i);
      if (method->name() == "CreateLink") continue;  // likewise
      const auto exception = Exceptions().find(method->name());
      const std::string path =
          absl::StrCat("/", service->full_name(), "/", method->name());
      table[path] = {
          path, method,
          exception == Exceptions().end() ? Route::kNamed : exception->second};
    }
  }
  return table;
}

}  // namespace

const RouteTable& AllRoutes() {
  static const auto* const table = new RouteTable(MakeTable());
  return *table;
}

const MethodRoute* FindRoute(std::string_view path) {
  const auto found = AllRoutes().find(path);
  return found == AllRoutes().end() ? nullptr : &found->second;
}

}  // namespace sandglass::gateway
