#ifndef SANDGLASS_CLIENT_POLICY_POLICY_COMMAND_LINE_H_
#define SANDGLASS_CLIENT_POLICY_POLICY_COMMAND_LINE_H_

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "client/policy/policy_options.h"

// The name comes from the library.
// NOLINTNEXTLINE(readability-identifier-naming)
namespace CLI {
class App;
}  // namespace CLI

namespace sandglass::client {

// `sandglass approvals …` and `sandglass policy …` on the command line.
class PolicyCommandLine {
 public:
  explicit PolicyCommandLine(CLI::App& app);
  PolicyCommandLine(const PolicyCommandLine&) = delete;
  PolicyCommandLine& operator=(const PolicyCommandLine&) = delete;

  // Call these only after parsing.
  bool parsed() const;
  using Options = std::variant<ApprovalsOptions, PolicyOptions>;
  absl::StatusOr<Options> Collect() const;

 private:
  struct Command {
    CLI::App* app;
    std::function<absl::StatusOr<Options>()> take;
  };
  void AddApprovals();
  void AddAnswer(bool approve);
  void AddPolicy();
  absl::StatusOr<Options> List() const;

  CLI::App* approvals_;
  CLI::App* policy_;
  bool all_ = false;
  bool json_ = false;
  std::vector<Command> commands_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_POLICY_POLICY_COMMAND_LINE_H_
