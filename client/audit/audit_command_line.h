#ifndef SANDGLASS_CLIENT_AUDIT_AUDIT_COMMAND_LINE_H_
#define SANDGLASS_CLIENT_AUDIT_AUDIT_COMMAND_LINE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/audit/audit_options.h"

// The name is the library's.
// NOLINTNEXTLINE(readability-identifier-naming)
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sandglass::client {

// `sandglass audit …` on the command line: adds its commands to a parser and
// reads what was given to them.
class AuditCommandLine {
 public:
  explicit AuditCommandLine(CLI::App& app);
  AuditCommandLine(const AuditCommandLine&) = delete;
  AuditCommandLine& operator=(const AuditCommandLine&) = delete;

  // Call these only after parsing.
  bool parsed() const;
  absl::StatusOr<AuditOptions> Collect() const;

 private:
  struct Command {
    CLI::App* app;
    std::function<absl::StatusOr<AuditOptions>()> take;
  };
  CLI::App& Add(const std::string& name, const std::string& help);
  void AddVerify();
  void AddHead();
  void AddShow();

  CLI::App* audit_;
  std::vector<Command> commands_;
};

// Reads "2025-01-31", "2025-01-31 08:00", with or without seconds, in the local
// time zone; RFC 3339; or a time span: "2h" means two hours before `now`.
absl::StatusOr<absl::Time> ParseAuditTime(absl::string_view text,
                                          absl::Time now);

// Writes an option's value, read by ParseAuditTime, to `out`, which isn't
// changed when there is none. The error names the option.
absl::Status ParseAuditTimeFlag(const CLI::Option* option,
                                std::optional<absl::Time>& out);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AUDIT_AUDIT_COMMAND_LINE_H_
