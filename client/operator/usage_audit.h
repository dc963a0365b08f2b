#ifndef SANDGLASS_CLIENT_OPERATOR_USAGE_AUDIT_H_
#define SANDGLASS_CLIENT_OPERATOR_USAGE_AUDIT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/operator/operator_options.h"
#include "policy/audit/audit_chain.h"
#include "sandglass/v1/operator.pb.h"

namespace sandglass::client {

// Adds up what callers used according to an audit log: its lines "run" and
// "exec". Lines may contain anything; what can't be read as a number counts as
// 0.
class UsageOfLines {
 public:
  explicit UsageOfLines(const UsageOptions& options) : options_(options) {}

  void Add(absl::string_view line, const policy::AuditLine& parts);

  // Returns the sums in the form of the daemon's answer. The times are those of
  // the first and the last line, or the options' if these are narrower.
  v1::GetUsageResponse Finish() const;

  // The number of lines that weren't JSON.
  uint64_t unreadable() const { return unreadable_; }

 private:
  struct Sum {
    v1::UsageTotal total;
    double wall_seconds = 0;
    double cpu_seconds = 0;
  };

  const UsageOptions& options_;
  // Keyed by caller and language.
  std::map<std::pair<std::string, std::string>, Sum> sums_;
  std::optional<absl::Time> first_;
  std::optional<absl::Time> last_;
  uint64_t unreadable_ = 0;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_OPERATOR_USAGE_AUDIT_H_
