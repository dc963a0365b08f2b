#ifndef SANDGLASS_SERVER_RUN_RUN_INPUTS_H_
#define SANDGLASS_SERVER_RUN_RUN_INPUTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sandglass/v1/run.pb.h"
#include "server/job/job.h"

namespace sandglass::server {

// What the audit log says of that which a request brought. Its contents appear
// as SHA-256 sums in hexadecimal digits, of arguments only their number, of
// variables only their names.
struct RunInputs {
  struct File {
    std::string path;  // below /workspace
    std::string sha256;
    uint64_t bytes = 0;
  };
  size_t args = 0;
  std::vector<std::string> env;  // sorted
  size_t file_count = 0;

  // Empty until AddDigests; the program's text only if that is wanted.
  std::string code_sha256;
  uint64_t code_bytes = 0;
  std::string code;
  std::vector<File> files;
  std::string stdin_sha256;
  uint64_t stdin_bytes = 0;
};

// Longer texts are cut, at a character's end.
inline constexpr size_t kMostAuditedCodeBytes = size_t{64} << 10;
std::string ShortenedText(const std::string& text);

// The part that a job no longer has. For requests that may still be refused.
RunInputs InputsOf(const v1::RunCodeRequest& request);

// The rest, from the job that was made of the request, before it lets go of its
// inputs. Later calls change nothing.
void AddDigests(const Job& job, bool with_code, RunInputs& inputs);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RUN_RUN_INPUTS_H_
