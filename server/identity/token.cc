#include "server/identity/token.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"
#include "policy/text/json_reader.h"
#include "policy/text/names.h"
#include "server/base/random_id.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

constexpr size_t kIdBytes = 6;
constexpr size_t kSecretBytes = 32;
constexpr size_t kIdDigits = 2 * kIdBytes;
constexpr size_t kHashDigits = 64;
constexpr size_t kMaxNoteBytes = 256;

bool IsHex(absl::string_view text, size_t digits) {
  return text.size() == digits &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
         });
}

std::string TimeText(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone());
}

absl::Time ReadTime(policy::JsonObject& entry, const char* key) {
  absl::Time time;
  const std::string text = entry.String(key);
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, &error)) {
    entry.AddError(key, absl::StrCat(Quoted(text),
                                     " is not a time such as "
                                     "\"2027-01-31T12:00:00Z\""));
  }
  return time;
}

Scopes ReadScopes(policy::JsonObject& entry) {
  Scopes scopes;
  for (const std::string& name : entry.Strings("scopes")) {
    if (const std::optional<Scope> scope = ScopeOf(name)) {
      scopes.Add(*scope);
    } else {
      entry.AddError("scopes", absl::StrCat(Quoted(name), " is none of ",
                                            AllScopeNames()));
    }
  }
  return scopes;
}

Token ReadToken(policy::JsonObject& entry) {
  Token token;
  token.id = entry.String("id");
  if (!IsHex(token.id, kIdDigits)) {
    entry.AddError("id", "is not 12 hexadecimal digits");
  }
  const std::string hash = entry.String("sha256");
  if (IsHex(hash, kHashDigits)) {
    token.sha256 = absl::HexStringToBytes(hash);
  } else {
    entry.AddError("sha256", "is not 64 hexadecimal digits");
  }
  token.tenant = entry.String("tenant");
  if (!IsTenantName(token.tenant)) {
    entry.AddError("tenant", absl::StrCat(Quoted(token.tenant),
                                          " is not the name of a tenant"));
  }
  token.principal = entry.String("principal");
  if (!IsPrincipalName(token.tenant, token.principal)) {
    entry.AddError("principal", absl::StrCat(Quoted(token.principal),
                                             " is not a principal's name"));
  }
  token.scopes = ReadScopes(entry);
  token.profiles = entry.Strings("profiles", std::vector<std::string>());
  if (entry.Has("profiles") && token.profiles.empty()) {
    entry.AddError("profiles", "is empty; leave it out for all");
  }
  token.read_only = entry.Bool("read_only", false);
  token.created = ReadTime(entry, "created");
  if (entry.Has("expires")) token.expires = ReadTime(entry, "expires");
  token.note = entry.String("note", "");
  if (token.note.size() > kMaxNoteBytes) {
    entry.AddError("note", "has more than 256 bytes");
  }
  return token;
}

}  // namespace

Identity Token::ToIdentity() const {
  Identity identity{.name = NameOf(tenant, principal)};
  identity.tenant = tenant;
  identity.scopes = scopes;
  identity.profiles = profiles;
  identity.read_only = read_only;
  identity.proof = Proof::kToken;
  identity.expires = expires;
  identity.token_id = id;
  return identity;
}

std::string NewTokenId() { return RandomId("", kIdBytes); }

std::string NewTokenValue(absl::string_view id) {
  return RandomId(absl::StrCat(kTokenPrefix, id, "_"), kSecretBytes);
}

std::optional<absl::string_view> IdOfValue(absl::string_view value) {
  if (!absl::ConsumePrefix(&value, kTokenPrefix)) return std::nullopt;
  const absl::string_view id = value.substr(0, kIdDigits);
  if (!IsHex(id, kIdDigits)) return std::nullopt;
  value.remove_prefix(kIdDigits);
  if (!absl::ConsumePrefix(&value, "_") || !IsHex(value, 2 * kSecretBytes)) {
    return std::nullopt;
  }
  return id;
}

std::string TokensToJson(const std::vector<Token>& tokens) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Token& token : tokens) {
    nlohmann::ordered_json entry = {
        {"id", token.id},
        {"sha256", absl::BytesToHexString(token.sha256)},
        {"tenant", token.tenant},
        {"principal", token.principal},
        {"scopes", nlohmann::ordered_json::array()},
        {"created", TimeText(token.created)}};
    for (const Scope scope : token.scopes.List()) {
      entry["scopes"].push_back(NameOf(scope));
    }
    if (!token.profiles.empty()) entry["profiles"] = token.profiles;
    if (token.read_only) entry["read_only"] = true;
    if (token.expires != absl::InfiniteFuture()) {
      entry["expires"] = TimeText(token.expires);
    }
    if (!token.note.empty()) entry["note"] = token.note;
    list.push_back(std::move(entry));
  }
  return nlohmann::ordered_json{{"tokens", std::move(list)}}.dump(1) + "\n";
}

absl::StatusOr<std::vector<Token>> ReadTokens(const std::string& path,
                                              const std::string& text) {
  absl::StatusOr<policy::JsonDocument> document =
      policy::JsonDocument::Parse(text, path);
  if (!document.ok()) return document.status();
  policy::JsonObject root = document->root();
  std::vector<Token> tokens;
  std::set<std::string> ids;
  for (policy::JsonObject& entry : root.Objects("tokens")) {
    tokens.push_back(ReadToken(entry));
    if (!ids.insert(tokens.back().id).second) {
      entry.AddError("id", "is that of an earlier token, too");
    }
  }
  if (tokens.size() > kMaxTokens) {
    root.AddError("tokens", absl::StrCat("has more than ", kMaxTokens));
  }
  if (absl::Status read = document->Finish(); !read.ok()) return read;
  return tokens;
}

}  // namespace sandglass::server
