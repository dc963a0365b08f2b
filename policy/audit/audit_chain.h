#ifndef SANDGLASS_POLICY_AUDIT_AUDIT_CHAIN_H_
#define SANDGLASS_POLICY_AUDIT_AUDIT_CHAIN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "nlohmann/json_fwd.hpp"

namespace sandglass::policy {

// The audit log's format. A log is a directory of files, each of lines that end
// with a newline; a line is a JSON object in ASCII:
//
//   {"seq":N,"time":"T","prev":"P","event":"E",…,"hash":"H"}
//
// seq counts from 1 and goes on from file to file. T is the UTC time as in
// 2025-01-02T03:04:05.678901Z. E is [a-z_]{1,32}. H is the SHA-256 of the
// line's bytes before `,"hash":`, in 64 lower-case hexadecimal digits, P that
// of the line before it, of the first one 64 zeros. So the canonical form is
// the bytes as they were written; whoever checks them needs no JSON.

inline constexpr size_t kAuditHashDigits = 64;
// The longest line that is written or read, its newline counted.
inline constexpr size_t kMostAuditLineBytes = size_t{4} << 20;

// The last line of a log; seq 0 with zeros for one that has none.
struct AuditHead {
  uint64_t seq = 0;
  std::string hash = std::string(kAuditHashDigits, '0');

  friend bool operator==(const AuditHead&, const AuditHead&) = default;
};

// "SEQ:HASH", for keeping it elsewhere. INVALID_ARGUMENT for other text.
std::string FormatAuditHead(const AuditHead& head);
absl::StatusOr<AuditHead> ParseAuditHead(absl::string_view text);

// SHA-256 in lower-case hexadecimal digits.
std::string AuditHash(absl::string_view bytes);

// The members of `fields`, an object or null, as a line has them: `"K":V,…`.
// Bytes in strings that are not UTF-8 become U+FFFD, and what isn't printable
// ASCII is escaped. INVALID_ARGUMENT for `fields` that are no object, or name a
// key that the line has.
absl::StatusOr<std::string> AuditMembers(const nlohmann::ordered_json& fields);

// The middle of a line, `"event":"E",…`, from `first_members`, which
// AuditMembers made, and the members of `fields`; none of which the others
// have. INVALID_ARGUMENT for an event that is no such word, or as above.
absl::StatusOr<std::string> AuditBody(absl::string_view event,
                                      const nlohmann::ordered_json& fields,
                                      absl::string_view first_members = {});

// The line that follows `head`, with its newline. `head` becomes that line's.
std::string MakeAuditLine(absl::string_view body, absl::Time time,
                          AuditHead& head);

// A line's own parts, views into it. `body` is as AuditBody made it.
struct AuditLine {
  uint64_t seq = 0;
  absl::string_view time;
  absl::string_view prev;
  absl::string_view event;
  absl::string_view body;
  absl::string_view hash;
};

// Reads a line without its newline. Absent when it has not the form above; the
// hash may still be wrong, and what follows the event no JSON.
std::optional<AuditLine> ReadAuditLine(absl::string_view line);

// What the hash of such a line must be.
std::string HashOfAuditLine(absl::string_view line);

// The fields, as a body, of the event "recovered": the line after bytes that a
// crash left of a line, or of several.
std::string RecoveredBody(absl::string_view torn);

// "audit-0000000001.jsonl" for the file whose first line is `seq`, and back;
// absent for other names.
std::string AuditFileName(uint64_t seq);
std::optional<uint64_t> ParseAuditFileName(absl::string_view name);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_AUDIT_AUDIT_CHAIN_H_
