#ifndef SANDGLASS_CLIENT_AUDIT_AUDIT_LINES_H_
#define SANDGLASS_CLIENT_AUDIT_AUDIT_LINES_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/audit/audit_options.h"
#include "policy/audit/audit_chain.h"

namespace sandglass::client {

// Prints those lines of an audit log that the user selected. A line's content
// may be anything; the output is harmless for a terminal.
class AuditLines {
 public:
  explicit AuditLines(const AuditShowOptions& options);

  void Append(absl::string_view line, const policy::AuditLine& parts);

  // Prints what was kept, and on standard error what isn't shown. Call once.
  // Returns kExitOk, or the exit code for a failed write.
  int Finish();

 private:
  using Row = std::vector<std::string>;
  void Keep(std::string line, Row row);

  const AuditShowOptions& options_;
  const uint64_t max_;             // lines to keep; 0: print at once
  std::deque<std::string> lines_;  // with --json
  std::deque<Row> rows_;
  uint64_t left_out_ = 0;
  uint64_t unreadable_ = 0;
  int printed_ = 0;  // an exit code
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AUDIT_AUDIT_LINES_H_
