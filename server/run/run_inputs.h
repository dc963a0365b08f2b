#ifndef SANDGLASS_SERVER_RUN_RUN_INPUTS_H_
#define SANDGLASS_SERVER_RUN_RUN_INPUTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sandglass/v1/run.pb.h"
#include "server/job/job.h"

namespace sandglass::server {

// What the audit log says about the inputs of a request. Contents appear as
// SHA-256 sums in hexadecimal digits; of the arguments there is only the
// number, of the environment variables only the names.
struct RunInputs {
  struct File {
    std::string path;  // below /workspace
    std::string sha256;
    uint64_t bytes = 0;
  };
  size_t args = 0;
  std::vector<std::string> env;  // sorted
  size_t file_count = 0;

  // Empty until AddDigests; `code` is set only if the program's text is wanted.
  std::string code_sha256;
  uint64_t code_bytes = 0;
  std::string code;
  std::vector<File> files;
  std::string stdin_sha256;
  uint64_t stdin_bytes = 0;
};

// Longer texts are cut, at the end of a character.
inline constexpr size_t kMaxAuditedCodeBytes = size_t{64} << 10;
std::string ShortenedText(const std::string& text);

// Returns the part that can't be told from a job any more. For requests that
// may still be refused.
RunInputs InputsOf(const v1::RunCodeRequest& request);

// Adds the rest from the job that was made of the request. Call it before the
// job releases its inputs. Later calls change nothing.
void AddDigests(const Job& job, bool with_code, RunInputs& inputs);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RUN_RUN_INPUTS_H_
