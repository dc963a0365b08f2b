#ifndef SANDGLASS_POLICY_VERDICT_HINT_SIGNS_H_
#define SANDGLASS_POLICY_VERDICT_HINT_SIGNS_H_

#include "absl/strings/string_view.h"

namespace sandglass::policy {

// What programs, runtimes and tools say about what they met. Kernel facts come
// first; words are for what no fact shows.
enum class Sign {
  kMemory,
  kProcesses,
  kDiskFull,
  kFileSize,
  kOpenFiles,
  kNetwork,
  kPackages,   // a tool that installs packages has failed
  kInput,      // it read standard input to its end
  kTerminal,   // it could not open a terminal of its own
  kFileWatch,  // it could not be told of changes to files
};

// Whether `text`, in lower case, has words of the sign, in the messages of any
// language.
bool Says(Sign sign, absl::string_view text);

// Whether `text`, in lower case, says that something could not be written, made
// or removed since it is outside of the places where a program may do that.
bool SaysReadOnly(absl::string_view text);

// Whether the command installs packages of a language.
bool InstallsPackages(absl::string_view command);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_VERDICT_HINT_SIGNS_H_
