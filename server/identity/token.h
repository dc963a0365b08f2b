#ifndef SANDGLASS_SERVER_IDENTITY_TOKEN_H_
#define SANDGLASS_SERVER_IDENTITY_TOKEN_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/identity/identity.h"

namespace sandglass::server {

// A bearer token as it is kept: without its value, of which only a hash is. A
// value is "sg_", the id, "_" and 64 hexadecimal digits of 32 random bytes.
struct Token {
  std::string id;      // 12 hexadecimal digits
  std::string sha256;  // of the whole value: 32 bytes
  std::string tenant;
  std::string principal;
  Scopes scopes;
  std::vector<std::string> profiles;
  bool read_only = false;
  absl::Time created;
  absl::Time expires = absl::InfiniteFuture();
  std::string note;

  // Who calls with it.
  Identity ToIdentity() const;
};

// What the value of each token begins with, and no JWT does.
inline constexpr absl::string_view kTokenPrefix = "sg_";

// The most tokens that there may be; the file may have 1 MiB.
inline constexpr size_t kMaxTokens = 2000;

// A new id, and a new value for it.
std::string NewTokenId();
std::string NewTokenValue(absl::string_view id);

// The id in a value; nullopt for what can't be the value of any token.
std::optional<absl::string_view> IdOfValue(absl::string_view value);

// The content of the file that keeps tokens, and back. Reading is strict: a
// file with one bad entry is refused as a whole, with what is wrong and where.
std::string TokensToJson(const std::vector<Token>& tokens);
absl::StatusOr<std::vector<Token>> ReadTokens(const std::string& path,
                                              const std::string& text);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_IDENTITY_TOKEN_H_
