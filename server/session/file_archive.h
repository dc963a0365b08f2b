#ifndef SANDGLASS_SERVER_SESSION_FILE_ARCHIVE_H_
#define SANDGLASS_SERVER_SESSION_FILE_ARCHIVE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sandbox/files/file_agent_client.h"
#include "sandbox/os/fd.h"
#include "server/base/cancel_token.h"
#include "server/session/session_copy.h"

namespace sandglass::server {

class FileArchive;
using SharedArchive = std::shared_ptr<const FileArchive>;

// A session's files as a tar in the daemon's memory, with which the children of
// a fork begin. The memory is freed when the last child that waits for it has
// got it or is gone.
class FileArchive {
 public:
  ~FileArchive();
  FileArchive(const FileArchive&) = delete;
  FileArchive& operator=(const FileArchive&) = delete;

  // Packs /workspace, at most `max_bytes` of it, not counting zeros.
  // RESOURCE_EXHAUSTED: `memory` has not that much left. The time of `limits`
  // is for all of it together.
  static absl::StatusOr<SharedArchive> Pack(sandbox::FileAgent& agent,
                                            std::shared_ptr<DiskBudget> memory,
                                            const sandbox::FileLimits& limits);

  // Unpacks the files into /workspace.
  absl::Status Unpack(sandbox::FileAgent& agent,
                      const sandbox::FileLimits& limits) const;

 private:
  explicit FileArchive(std::shared_ptr<DiskBudget> memory)
      : memory_(std::move(memory)) {}

  absl::Status Add(absl::string_view piece);

  const std::shared_ptr<DiskBudget> memory_;
  os::Fd file_;
  uint64_t size_ = 0;
  uint64_t bytes_ = 0;  // taken from the budget
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_FILE_ARCHIVE_H_
