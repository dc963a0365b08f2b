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

// The audit log's format. A log is a directory of files whose lines each end
// with a newline; a line is a JSON object in ASCII:
//
//   {"seq":N,"time":"T","prev":"P","event":"E",…,"hash":"H"}
//
// seq counts from 1 and continues from file to file. T is the UTC time as in
// 2025-01-02T03:04:05.678901Z. E is [a-z_]{1,32}. H is the SHA-256 of the
// line's bytes before `,"hash":`, in 64 lower-case hexadecimal digits; P is the
// H of the previous line, or 64 zeros in the first one. So the canonical form
// is the bytes as they were written, and checking them needs no JSON parser.

inline constexpr size_t kAuditHashDigits = 64;
// The longest line that is written or read, in bytes, including its newline.
inline constexpr size_t kMaxAuditLineBytes = size_t{4} << 20;

// Identifies the last line of a log; seq is 0 and the hash zeros for a log
// without lines.
struct AuditHead {
  uint64_t seq = 0;
  std::string hash = std::string(kAuditHashDigits, '0');

  friend bool operator==(const AuditHead&, const AuditHead&) = default;
};

// Converts to "SEQ:HASH", for keeping it elsewhere, and back. INVALID_ARGUMENT
// for any other text.
std::string FormatAuditHead(const AuditHead& head);
absl::StatusOr<AuditHead> ParseAuditHead(absl::string_view text);

// The SHA-256 of the bytes, in lower-case hexadecimal digits.
std::string AuditHash(absl::string_view bytes);

// The members of `fields`, an object or null, as they stand in a line:
// `"K":V,…`. In strings, bytes that aren't UTF-8 become U+FFFD, and everything
// but printable ASCII is escaped. INVALID_ARGUMENT when `fields` isn't an
// object, or has a key that each line has anyway.
absl::StatusOr<std::string> AuditMembers(const nlohmann::ordered_json& fields);

// The middle of a line, `"event":"E",…`, from `first_members`, which
// AuditMembers made, and the members of `fields`; the two must not have keys in
// common. INVALID_ARGUMENT when the event's name isn't of the form above, or
// for the reasons of AuditMembers.
absl::StatusOr<std::string> AuditBody(absl::string_view event,
                                      const nlohmann::ordered_json& fields,
                                      absl::string_view first_members = {});

// Makes the line that follows `head`, with its newline, and sets `head` to that
// line.
std::string MakeAuditLine(absl::string_view body, absl::Time time,
                          AuditHead& head);

// The parts of a line, as views into it. `body` is in the form of AuditBody.
struct AuditLine {
  uint64_t seq = 0;
  absl::string_view time;
  absl::string_view prev;
  absl::string_view event;
  absl::string_view body;
  absl::string_view hash;
};

// Reads a line without its newline. nullopt when it doesn't have the form
// above. The hash may still be wrong, and what follows the event may not be
// JSON.
std::optional<AuditLine> ReadAuditLine(absl::string_view line);

// The hash that such a line must have.
std::string HashOfAuditLine(absl::string_view line);

// The body of the event "recovered", for the line after bytes that a crash has
// left of one or several lines.
std::string RecoveredBody(absl::string_view torn);

// The name of the file whose first line is `seq`, "audit-0000000001.jsonl", and
// the reverse; nullopt for other names.
std::string AuditFileName(uint64_t seq);
std::optional<uint64_t> ParseAuditFileName(absl::string_view name);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_AUDIT_AUDIT_CHAIN_H_
