#ifndef SANDGLASS_SERVER_BASE_DURABLE_LOG_H_
#define SANDGLASS_SERVER_BASE_DURABLE_LOG_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sandbox/os/fd.h"

namespace sandglass::server {

// A file of records, each with its length and CRC-32. What Append returned OK
// for is read again after a SIGKILL at any moment; a record that was being
// written then is as if it had never been. Nothing waits for the disk itself,
// so a power cut can take the last seconds. One thread at a time.
class DurableLog {
 public:
  // Also the longest record.
  static constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  static constexpr uint32_t kMostRecordBytes = uint32_t{64} << 20;
  static constexpr uint64_t kFrameBytes = 12;  // around each record

  using Take = std::function<absl::Status(absl::string_view record)>;

  DurableLog() = default;

  // Opens the file, which is made when it isn't there, and hands out what it
  // has. A record that was cut at the end is taken off. DATA_LOSS: something in
  // it isn't as it was written. Errors of `take` are passed on.
  static absl::StatusOr<DurableLog> Open(const os::Fd& directory,
                                         const std::string& name,
                                         const Take& take);

  // All or nothing. RESOURCE_EXHAUSTED: the disk is full.
  absl::Status Append(absl::string_view record);
  // Makes the file new with just these, all or nothing.
  static absl::StatusOr<DurableLog> Replace(const os::Fd& directory,
                                            const std::string& name,
                                            absl::string_view record);

  uint64_t bytes() const { return bytes_; }
  const os::Fd& file() const { return file_; }

 private:
  os::Fd file_;
  uint64_t bytes_ = 0;
};

// For people: what failed and why; RESOURCE_EXHAUSTED where the disk is full.
absl::Status DiskError(absl::string_view what);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_DURABLE_LOG_H_
