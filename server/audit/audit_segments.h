#ifndef SANDGLASS_SERVER_AUDIT_AUDIT_SEGMENTS_H_
#define SANDGLASS_SERVER_AUDIT_AUDIT_SEGMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "policy/audit/audit_chain.h"
#include "sandbox/os/fd.h"

namespace sandglass::server {

// The files of an audit log (policy/audit/audit_chain.h), each named by the
// number of its first line.

// Their numbers, in order; other names are passed over.
absl::StatusOr<std::vector<uint64_t>> ListAuditFiles(const os::Fd& directory);

// Makes the file whose first line will be `seq`, 0640. Fails when it is there.
absl::StatusOr<os::Fd> MakeAuditFile(const os::Fd& directory, uint64_t seq);

// Where a log goes on.
struct AuditTail {
  policy::AuditHead head;  // its last whole line; seq 0: there is none
  os::Fd file;             // the newest file; empty: there is none
  uint64_t file_seq = 0;   // the number in its name
  uint64_t bytes = 0;      // its size
  // What stands in that file after the last whole line, without a newline at
  // its end: a crash came while a line was written.
  std::string torn;
  bool ends_line = true;  // the file is empty or ends with a newline
};

// Opens the newest file for appending and checks its last lines, at least 4 MiB
// of them where there are so many. DATA_LOSS, with what was found, when they
// are not as they were written; FAILED_PRECONDITION for a file that belongs to
// somebody else, or is no file.
absl::StatusOr<AuditTail> OpenAuditTail(const os::Fd& directory);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_AUDIT_AUDIT_SEGMENTS_H_
