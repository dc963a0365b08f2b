#ifndef SANDGLASS_SANDBOX_ZYGOTE_RUNNER_JOB_H_
#define SANDGLASS_SANDBOX_ZYGOTE_RUNNER_JOB_H_

#include <sys/types.h>

#include <vector>

#include "absl/strings/string_view.h"
#include "sandbox/wire/runner_protocol.h"

namespace sandglass::sandbox {

// The parts of what follows a RunnerJob. These are views into the bytes from
// which it was read; each C string has its NUL there.
struct RunnerJobBody {
  struct File {
    const char* path;  // below /workspace
    mode_t mode;
    absl::string_view content;
    bool look_at;
  };
  std::vector<const char*> arguments;
  std::vector<const char*> environment;  // "NAME=value"
  std::vector<File> files;
};

// Returns false and sets errno (EPROTO) when the bytes aren't what the header
// says.
bool ReadRunnerJob(const RunnerJob& header, absl::string_view bytes,
                   RunnerJobBody& body);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_ZYGOTE_RUNNER_JOB_H_
