#ifndef SANDGLASS_SERVER_PHASES_COMPILED_FILE_H_
#define SANDGLASS_SERVER_PHASES_COMPILED_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"
#include "server/job/job.h"

namespace sandglass::server {

// What a compiler that went well made: its artifacts and what it said.
struct Compiled {
  std::vector<FileResult> files;
  StreamResult stdout_result;
  StreamResult stderr_result;

  // For each file a sealed one with its content, which jails copy without our
  // writing it for them first; null for small ones. Empty before Seal.
  std::vector<std::shared_ptr<const os::Fd>> sealed;

  // Call once, when the files are there.
  void Seal();
  // What it takes in memory, about.
  uint64_t bytes() const;
};

// A file of the compile cache: a mark of the format, the key it is kept under,
// the length of the result, the result, and the SHA-256 of all before.
std::string EncodeCompiled(const std::string& key, const Compiled& compiled);

// DATA_LOSS says what is wrong: the bytes aren't whole, were changed, or belong
// to another key.
absl::StatusOr<Compiled> DecodeCompiled(const std::string& key,
                                        std::string_view bytes);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_PHASES_COMPILED_FILE_H_
