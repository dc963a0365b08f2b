#ifndef SANDGLASS_CLIENT_SERVICE_SERVICE_COMMAND_LINE_H_
#define SANDGLASS_CLIENT_SERVICE_SERVICE_COMMAND_LINE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/service/service_options.h"

// The name comes from the library.
// NOLINTNEXTLINE(readability-identifier-naming)
namespace CLI {
class App;
}  // namespace CLI

namespace sandglass::client {

// `sandglass up`, `down` and `logs`: their flags, and what was said with them.
class ServiceCommandLine {
 public:
  explicit ServiceCommandLine(CLI::App& app);

  // Whether one of them was given.
  bool parsed() const;
  // Precondition: parsed(). INVALID_ARGUMENT for a value that makes no sense.
  // `more` are the words after "--": options of sandglassd.
  absl::StatusOr<ServiceOptions> Collect(std::vector<std::string> more) const;

 private:
  struct Command {
    CLI::App* app;
    std::function<absl::StatusOr<ServiceOptions>()> take;
  };

  void AddUp(CLI::App& app);
  void AddDown(CLI::App& app);
  void AddLogs(CLI::App& app);

  std::vector<Command> commands_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SERVICE_SERVICE_COMMAND_LINE_H_
