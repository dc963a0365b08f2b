#ifndef SANDGLASS_CLIENT_DOCTOR_ATTEMPTS_H_
#define SANDGLASS_CLIENT_DOCTOR_ATTEMPTS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sandglass::client {

// Something that keeps a program in.
struct Protection {
  const char* id;     // stable, for --json
  const char* group;  // heading of the report
  const char* name;
  const char* stops;    // in plain words
  const char* section;  // of docs/security.md
};

// All that the doctor looks for inside jails, in the report's order.
absl::Span<const Protection> Protections();
// Null for an id that none has.
const Protection* FindProtection(absl::string_view id);

// What the probe tries and must be answered. The probe prints the name.
struct Attempt {
  const char* name;
  const char* expected;    // alternatives are parted by "|"
  const char* protection;  // kWork: no protection, but what programs need
};
inline constexpr char kWork[] = "";

// Of `sandglass-probe inside`, by its parts.
absl::Span<const Attempt> SelfAttempts();
absl::Span<const Attempt> FileAttempts();
absl::Span<const Attempt> SocketAttempts();
absl::Span<const Attempt> NetworkAttempts();
absl::Span<const Attempt> CallAttempts();
// Of `sandglass-probe look`, beside the namespaces' numbers.
absl::Span<const Attempt> LookAttempts();

// Whether one run tells it from inside; else it takes others, or a verdict.
bool IsSeenFromInside(const Protection& protection);

// Whether the answer is one of the expected ones, letter by letter.
bool IsExpected(const Attempt& attempt, absl::string_view answer);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_DOCTOR_ATTEMPTS_H_
