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

// The result of a compiler that ended well: its artifacts and its output.
struct Compiled {
  std::vector<FileResult> files;
  StreamResult stdout_result;
  StreamResult stderr_result;

  // For each file a sealed descriptor with its content, which jails copy
  // without our having to write it for them first; null for small files. Empty
  // before Seal.
  std::vector<std::shared_ptr<const os::Fd>> sealed;

  // Makes the sealed descriptors. Call it once, when all files are there.
  void Seal();
  // About how many bytes of memory it takes.
  uint64_t bytes() const;
};

// Returns a file of the compile cache: a mark of the format, the key under
// which it is kept, the length of the result, the result, and the SHA-256 of
// all that comes before it.
std::string EncodeCompiled(const std::string& key, const Compiled& compiled);

// Reverses EncodeCompiled. DATA_LOSS says what is wrong: the bytes are
// incomplete, were changed, or belong to another key.
absl::StatusOr<Compiled> DecodeCompiled(const std::string& key,
                                        std::string_view bytes);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_PHASES_COMPILED_FILE_H_
