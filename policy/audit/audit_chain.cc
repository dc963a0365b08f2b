#include "policy/audit/audit_chain.h"

#include <openssl/evp.h>

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"

namespace sandglass::policy {
namespace {

constexpr absl::string_view kHashKey = ",\"hash\":\"";
constexpr absl::string_view kLineEnd = "\"}";
constexpr size_t kHashPartBytes =
    kHashKey.size() + kAuditHashDigits + kLineEnd.size();
constexpr absl::string_view kEventKey = "\"event\":\"";
constexpr size_t kMaxEventBytes = 32;
// The zeros stand for any digit.
constexpr absl::string_view kTimeForm = "0000-00-00T00:00:00.000000Z";
constexpr absl::string_view kNamePrefix = "audit-";
constexpr absl::string_view kNameSuffix = ".jsonl";
// Leaves room for counting on.
constexpr uint64_t kMaxSeq = std::numeric_limits<int64_t>::max();

bool IsHash(absl::string_view text) {
  return text.size() == kAuditHashDigits &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
         });
}

bool IsTime(absl::string_view text) {
  return text.size() == kTimeForm.size() &&
         std::equal(text.begin(), text.end(), kTimeForm.begin(),
                    [](char got, char form) {
                      return form == '0' ? absl::ascii_isdigit(got)
                                         : got == form;
                    });
}

bool IsEvent(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxEventBytes &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_islower(c) || c == '_'; });
}

// Reads a number as we write it: only digits, no leading zero.
std::optional<uint64_t> ReadNumber(absl::string_view text) {
  uint64_t number = 0;
  if (text.empty() || !absl::ascii_isdigit(text[0]) ||
      !absl::SimpleAtoi(text, &number) || number > kMaxSeq ||
      absl::StrCat(number) != text) {
    return std::nullopt;
  }
  return number;
}

// Removes what comes before `end` from `text`, and `end` too; false when `end`
// isn't there.
bool ConsumeUntil(absl::string_view end, absl::string_view& text,
                  absl::string_view& taken) {
  const size_t at = text.find(end);
  if (at == absl::string_view::npos) return false;
  taken = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return true;
}

// Looked up only once: each use of EVP_sha256() looks it up anew, which takes
// longer than hashing a line (ossl-guide-libcrypto-introduction(7), "explicit
// fetching").
const EVP_MD* Sha256() {
  static const EVP_MD* const fetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return fetched != nullptr ? fetched : EVP_sha256();
}

}  // namespace

std::string FormatAuditHead(const AuditHead& head) {
  return absl::StrCat(head.seq, ":", head.hash);
}

absl::StatusOr<AuditHead> ParseAuditHead(absl::string_view text) {
  const size_t colon = text.find(':');
  if (colon != absl::string_view::npos) {
    const std::optional<uint64_t> seq = ReadNumber(text.substr(0, colon));
    const absl::string_view hash = text.substr(colon + 1);
    const AuditHead none;
    if (seq && IsHash(hash) && (*seq > 0 || hash == none.hash)) {
      return AuditHead{*seq, std::string(hash)};
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", absl::CHexEscape(text.substr(0, 100)),
                   "' is no head of an audit log: write SEQ:HASH, a number and "
                   "64 hexadecimal digits"));
}

std::string AuditHash(absl::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest, &size, Sha256(), nullptr);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest), size));
}

absl::StatusOr<std::string> AuditMembers(const nlohmann::ordered_json& fields) {
  if (fields.is_null()) return std::string();
  if (!fields.is_object()) {
    return absl::InvalidArgumentError("the fields of an event are an object");
  }
  for (const char* key : {"seq", "time", "prev", "event", "hash"}) {
    if (fields.contains(key)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the field '", key, "' of an event is the audit log's own"));
    }
  }
  const std::string text =
      fields.dump(-1, ' ', /*ensure_ascii=*/true,
                  nlohmann::ordered_json::error_handler_t::replace);
  // The text without its braces.
  return text.substr(1, text.size() - 2);
}

absl::StatusOr<std::string> AuditBody(absl::string_view event,
                                      const nlohmann::ordered_json& fields,
                                      absl::string_view first_members) {
  if (!IsEvent(event)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", absl::CHexEscape(event.substr(0, 100)),
                     "' is no name of an event: write [a-z_]{1,32}"));
  }
  const absl::StatusOr<std::string> members = AuditMembers(fields);
  if (!members.ok()) return members.status();
  std::string body = absl::StrCat(kEventKey, event, "\"");
  for (const absl::string_view part :
       {first_members, absl::string_view(*members)}) {
    if (!part.empty()) absl::StrAppend(&body, ",", part);
  }
  return body;
}

std::string MakeAuditLine(absl::string_view body, absl::Time time,
                          AuditHead& head) {
  std::string line = absl::StrCat(
      "{\"seq\":", head.seq + 1, ",\"time\":\"",
      absl::FormatTime("%E4Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone()),
      "\",\"prev\":\"", head.hash, "\",", body);
  head = {head.seq + 1, AuditHash(line)};
  absl::StrAppend(&line, kHashKey, head.hash, kLineEnd, "\n");
  return line;
}

std::optional<AuditLine> ReadAuditLine(absl::string_view line) {
  if (line.size() < kHashPartBytes) return std::nullopt;
  AuditLine parts;
  absl::string_view end = line.substr(line.size() - kHashPartBytes);
  absl::string_view rest = line.substr(0, line.size() - kHashPartBytes);
  if (!absl::ConsumePrefix(&end, kHashKey) ||
      !absl::ConsumeSuffix(&end, kLineEnd) || !IsHash(end)) {
    return std::nullopt;
  }
  parts.hash = end;
  absl::string_view seq;
  if (!absl::ConsumePrefix(&rest, "{\"seq\":") ||
      !ConsumeUntil(",\"time\":\"", rest, seq) ||
      !ConsumeUntil("\",\"prev\":\"", rest, parts.time) ||
      !ConsumeUntil("\",", rest, parts.prev) || !IsTime(parts.time) ||
      !IsHash(parts.prev)) {
    return std::nullopt;
  }
  const std::optional<uint64_t> number = ReadNumber(seq);
  if (!number || *number == 0) return std::nullopt;
  parts.seq = *number;
  parts.body = rest;
  if (!absl::ConsumePrefix(&rest, kEventKey) ||
      !ConsumeUntil("\"", rest, parts.event) || !IsEvent(parts.event) ||
      (!rest.empty() && rest[0] != ',')) {
    return std::nullopt;
  }
  return parts;
}

std::string HashOfAuditLine(absl::string_view line) {
  return AuditHash(
      line.substr(0, line.size() - std::min(line.size(), kHashPartBytes)));
}

std::string RecoveredBody(absl::string_view torn) {
  return absl::StrCat(kEventKey, "recovered\",\"torn_bytes\":", torn.size(),
                      ",\"torn_sha256\":\"", AuditHash(torn), "\"");
}

std::string AuditFileName(uint64_t seq) {
  return absl::StrFormat("%s%010d%s", kNamePrefix, seq, kNameSuffix);
}

std::optional<uint64_t> ParseAuditFileName(absl::string_view name) {
  absl::string_view digits = name;
  uint64_t seq = 0;
  if (!absl::ConsumePrefix(&digits, kNamePrefix) ||
      !absl::ConsumeSuffix(&digits, kNameSuffix) || digits.empty() ||
      !std::all_of(digits.begin(), digits.end(),
                   [](char c) { return absl::ascii_isdigit(c); }) ||
      !absl::SimpleAtoi(digits, &seq) || seq == 0 || seq > kMaxSeq ||
      AuditFileName(seq) != name) {
    return std::nullopt;
  }
  return seq;
}

}  // namespace sandglass::policy
