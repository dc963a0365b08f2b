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

// A file of records, each stored with its length and CRC-32. A record for which
// Append returned OK can be read again after a SIGKILL at any moment; a record
// that was just being written then is as if it had never been. Nothing waits
// for the disk itself, so a power cut can lose the last seconds. Use it from
// one thread at a time.
class DurableLog {
 public:
  // The largest size of the whole file, and of one record.
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 30;
  static constexpr uint32_t kMaxRecordBytes = uint32_t{64} << 20;
  static constexpr uint64_t kFrameBytes = 12;  // added to each record

  using RecordHandler = std::function<absl::Status(absl::string_view record)>;

  DurableLog() = default;

  // Opens the file, creating it when it isn't there, and calls `handle` with
  // each of its records. A record at the end that was cut off is removed.
  // DATA_LOSS: some part of the file isn't as it was written. Errors of
  // `handle` are passed on.
  static absl::StatusOr<DurableLog> Open(const os::Fd& directory,
                                         const std::string& name,
                                         const RecordHandler& handle);

  // Appends the whole record or nothing. RESOURCE_EXHAUSTED: the disk is full.
  absl::Status Append(absl::string_view record);
  // Replaces the file by a new one with just this record, completely or not at
  // all.
  static absl::StatusOr<DurableLog> Replace(const os::Fd& directory,
                                            const std::string& name,
                                            absl::string_view record);

  uint64_t bytes() const { return bytes_; }
  const os::Fd& file() const { return file_; }

 private:
  os::Fd file_;
  uint64_t bytes_ = 0;
};

// An error, worded for people, that says what failed and why;
// RESOURCE_EXHAUSTED when the disk is full.
absl::Status DiskError(absl::string_view what);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_DURABLE_LOG_H_
