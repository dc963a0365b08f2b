#ifndef SANDGLASS_CLIENT_OPERATOR_OPERATOR_OPTIONS_H_
#define SANDGLASS_CLIENT_OPERATOR_OPERATOR_OPTIONS_H_

#include <optional>
#include <string>
#include <variant>

#include "absl/time/time.h"

namespace sandglass::client {

struct StatusOptions {
  bool json = false;
};

struct TopOptions {
  absl::Duration interval = absl::Seconds(1);
  bool once = false;
  bool json = false;  // also once
};

enum class UsageBy { kCaller, kLanguage };

struct UsageOptions {
  UsageBy by = UsageBy::kCaller;
  std::string caller;  // empty: all
  bool json = false;
  // An audit log, as its directory or a file of it, to use instead of the
  // daemon's own sums. The two times are only allowed with it.
  std::optional<std::string> audit;
  std::optional<absl::Time> since;  // at this time or later
  std::optional<absl::Time> until;  // before it
};

using OperatorOptions = std::variant<StatusOptions, TopOptions, UsageOptions>;

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_OPERATOR_OPERATOR_OPTIONS_H_
