#ifndef SANDGLASS_SERVER_AUDIT_AUDIT_SEGMENTS_H_
#define SANDGLASS_SERVER_AUDIT_AUDIT_SEGMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "policy/audit/audit_chain.h"
#include "sandbox/os/fd.h"

namespace sandglass::server {

// The files of an audit log (policy/audit/audit_chain.h). Each is named by the
// number of its first line.

// The numbers of the audit files in a directory, in order; files with other
// names are skipped.
absl::StatusOr<std::vector<uint64_t>> ListAuditFiles(const os::Fd& directory);

// Makes the file whose first line will have the number `seq`, with mode 0640.
// Fails when the file is already there.
absl::StatusOr<os::Fd> MakeAuditFile(const os::Fd& directory, uint64_t seq);

// The place where a log that is opened again goes on.
struct AuditTail {
  policy::AuditHead head;  // its last whole line; seq is 0 when there is none
  os::Fd file;             // the newest file; empty when there is none
  uint64_t file_seq = 0;   // the number in its name
  uint64_t bytes = 0;      // its size
  // What stands in that file after the last whole line, without a newline at
  // its end. Not empty when a crash came while a line was written.
  std::string torn;
  bool ends_line = true;  // true when the file is empty or ends with a newline
};

// Opens the newest file for appending and checks its last lines: at least the
// last 4 MiB, where there is that much. DATA_LOSS, with what was found, when
// they are not as they were written. FAILED_PRECONDITION when the file belongs
// to somebody else or isn't a regular file.
absl::StatusOr<AuditTail> OpenAuditTail(const os::Fd& directory);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_AUDIT_AUDIT_SEGMENTS_H_
