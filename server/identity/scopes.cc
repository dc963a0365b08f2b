#include "server/identity/scopes.h"

#include <string>
#include <vector>

#include "absl/strings/str_join.h"

namespace sandglass::server {
namespace {

// By number.
constexpr const char* kNames[] = {nullptr, "run",     "sessions", "files",
                                  "exec",  "approve", "operate",  "admin"};

}  // namespace

std::vector<Scope> Scopes::List() const {
  std::vector<Scope> scopes;
  for (size_t number = 1; number < std::size(kNames); ++number) {
    if (Has(static_cast<Scope>(number))) {
      scopes.push_back(static_cast<Scope>(number));
    }
  }
  return scopes;
}

const char* NameOf(Scope scope) { return kNames[static_cast<size_t>(scope)]; }

std::optional<Scope> ScopeOf(absl::string_view name) {
  for (const Scope scope : Scopes::All().List()) {
    if (name == NameOf(scope)) return scope;
  }
  return std::nullopt;
}

std::string AllScopeNames() {
  return absl::StrJoin(
      Scopes::All().List(), ", ",
      [](std::string* text, Scope scope) { text->append(NameOf(scope)); });
}

}  // namespace sandglass::server
