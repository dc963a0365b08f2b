#ifndef SANDGLASS_CLIENT_OPERATOR_OPERATOR_COMMAND_LINE_H_
#define SANDGLASS_CLIENT_OPERATOR_OPERATOR_COMMAND_LINE_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/operator/operator_options.h"

// The name comes from the library.
// NOLINTNEXTLINE(readability-identifier-naming)
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sandglass::client {

// `sandglass status`, `top` and `usage` on the command line.
class OperatorCommandLine {
 public:
  explicit OperatorCommandLine(CLI::App& app);
  OperatorCommandLine(const OperatorCommandLine&) = delete;
  OperatorCommandLine& operator=(const OperatorCommandLine&) = delete;

  // Call these only after parsing.
  bool parsed() const;
  absl::StatusOr<OperatorOptions> Collect() const;

 private:
  absl::StatusOr<OperatorOptions> CollectTop() const;
  absl::StatusOr<OperatorOptions> CollectUsage() const;

  CLI::App *status_, *top_, *usage_;
  StatusOptions status_options_;
  TopOptions top_options_;
  UsageOptions usage_options_;
  CLI::Option *interval_, *by_, *caller_, *audit_, *since_, *until_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_OPERATOR_OPERATOR_COMMAND_LINE_H_
