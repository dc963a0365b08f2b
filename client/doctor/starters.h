#ifndef SANDGLASS_CLIENT_DOCTOR_STARTERS_H_
#define SANDGLASS_CLIENT_DOCTOR_STARTERS_H_

#include "absl/strings/string_view.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::client {

// A program in one language that starts ./sandglass-probe with its own
// arguments, waits, and ends with the probe's exit code.
struct Starter {
  const char* language;  // id
  const char* code;
  // A variable that is read when an interpreter starts but changes nothing: a
  // run that sets it gets a fresh interpreter. Null if no interpreter of this
  // language ever waits.
  const char* fresh_name;
  const char* fresh_value;
};

// Null for a language in which this client has no program.
const Starter* FindStarter(absl::string_view language);

// The name of the probe in /workspace.
inline constexpr char kProbeName[] = "sandglass-probe";

// The content of the probe: a static program that is embedded in this one.
absl::string_view ProbeImage();

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_DOCTOR_STARTERS_H_
