#ifndef SANDGLASS_CLIENT_DOCTOR_ATTEMPTS_H_
#define SANDGLASS_CLIENT_DOCTOR_ATTEMPTS_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sandglass::client {

// A measure that confines a program.
struct Protection {
  const char* id;     // stable, for --json
  const char* group;  // heading in the report
  const char* name;
  const char* stops;    // what it stops, in plain words
  const char* section;  // of docs/security.md
};

// Everything that the doctor checks inside jails, in the report's order.
absl::Span<const Protection> Protections();

// Something that the probe tries, and the expected answer. The probe prints the
// name.
struct Attempt {
  const char* name;
  const char* expected;    // alternatives, separated by "|"
  const char* protection;  // or kWork: something that programs need
};
inline constexpr char kWork[] = "";

// The attempts of `sandglass-probe inside`, by its parts.
absl::Span<const Attempt> SelfAttempts();
absl::Span<const Attempt> FileAttempts();
absl::Span<const Attempt> SocketAttempts();
absl::Span<const Attempt> NetworkAttempts();
absl::Span<const Attempt> CallAttempts();
// The attempts of `sandglass-probe look`, apart from the namespaces' numbers.
absl::Span<const Attempt> LookAttempts();

// The layer in the daemon's report without which this protection, or this
// attempt, can't be there; empty: none that the daemon may lack.
absl::string_view LayerOf(absl::string_view protection_or_attempt);

// Whether a single run can check it from inside; otherwise it takes other runs,
// or a verdict.
bool IsSeenFromInside(const Protection& protection);

// Whether the answer equals one of the expected ones exactly.
bool IsExpected(const Attempt& attempt, absl::string_view answer);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_DOCTOR_ATTEMPTS_H_
