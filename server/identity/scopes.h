#ifndef SANDGLASS_SERVER_IDENTITY_SCOPES_H_
#define SANDGLASS_SERVER_IDENTITY_SCOPES_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sandglass::server {

// What a caller may do; identity.proto says what each allows. The numbers are
// those of sandglass.v1.Scope.
enum class Scope : uint8_t {
  kRun = 1,
  kSessions = 2,
  kFiles = 3,
  kExec = 4,
  kApprove = 5,
  kOperate = 6,
  kAdmin = 7,
};

// A set of scopes; empty unless said otherwise.
class Scopes {
 public:
  constexpr Scopes() = default;
  constexpr Scopes(std::initializer_list<Scope> scopes) {
    for (const Scope scope : scopes) Add(scope);
  }
  static constexpr Scopes All() {
    return {Scope::kRun,     Scope::kSessions, Scope::kFiles, Scope::kExec,
            Scope::kApprove, Scope::kOperate,  Scope::kAdmin};
  }
  // What a caller has unless somebody decided otherwise: its own runs,
  // sessions, files and commands.
  static constexpr Scopes Usual() {
    return {Scope::kRun, Scope::kSessions, Scope::kFiles, Scope::kExec};
  }

  constexpr void Add(Scope scope) {
    bits_ |= 1u << static_cast<uint32_t>(scope);
  }
  constexpr bool Has(Scope scope) const {
    return (bits_ & 1u << static_cast<uint32_t>(scope)) != 0;
  }
  constexpr bool Contains(Scopes other) const {
    return (other.bits_ & ~bits_) == 0;
  }
  constexpr bool empty() const { return bits_ == 0; }
  // In the order of their numbers.
  std::vector<Scope> List() const;

  friend bool operator==(Scopes, Scopes) = default;

 private:
  uint32_t bits_ = 0;
};

// "run", "sessions", ...: as files and command lines have it.
const char* NameOf(Scope scope);
std::optional<Scope> ScopeOf(absl::string_view name);
// "run, sessions, files, exec, approve, operate, admin": for messages.
std::string AllScopeNames();

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_IDENTITY_SCOPES_H_
