#ifndef SANDGLASS_CLIENT_DOCTOR_STARTERS_H_
#define SANDGLASS_CLIENT_DOCTOR_STARTERS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::client {

// A program in one language that starts ./sandglass-probe with the arguments it
// was given, waits, and ends with its exit code.
struct Starter {
  const char* language;  // id
  const char* code;
  // Acts as an interpreter starts and changes nothing: a run that sets it gets
  // a fresh one. Null where none ever waits.
  const char* fresh_name;
  const char* fresh_value;
};

// Null for a language that this client has no program in.
const Starter* FindStarter(absl::string_view language);

// The name of the probe in /workspace.
inline constexpr char kProbeName[] = "sandglass-probe";

// The probe itself: a static program that is part of this one.
absl::string_view ProbeImage();

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_DOCTOR_STARTERS_H_
