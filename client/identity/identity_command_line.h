#ifndef SANDGLASS_CLIENT_IDENTITY_IDENTITY_COMMAND_LINE_H_
#define SANDGLASS_CLIENT_IDENTITY_IDENTITY_COMMAND_LINE_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "client/connection/endpoint.h"
#include "client/identity/identity_options.h"

// The name comes from the library.
// NOLINTNEXTLINE(readability-identifier-naming)
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sandglass::client {

// The flags that say where the daemon is and who we are, which every command
// takes.
class EndpointCommandLine {
 public:
  explicit EndpointCommandLine(CLI::App& app);
  // Call it only after parsing.
  EndpointFlags Collect() const;

 private:
  CLI::Option *address_, *ca_, *cert_, *key_, *token_file_, *context_;
};

// `sandglass context …`, `whoami` and `token …` on the command line.
class IdentityCommandLine {
 public:
  explicit IdentityCommandLine(CLI::App& app);
  IdentityCommandLine(const IdentityCommandLine&) = delete;
  IdentityCommandLine& operator=(const IdentityCommandLine&) = delete;

  // Call these only after parsing.
  bool parsed() const;
  absl::StatusOr<IdentityOptions> Collect() const;

 private:
  struct Command {
    CLI::App* app;
    std::function<absl::StatusOr<IdentityOptions>()> take;
  };
  void AddContext(ContextOptions::Act act, const char* name, const char* help);
  void AddToken();
  absl::StatusOr<IdentityOptions> CollectNewToken() const;

  CLI::App *context_, *whoami_, *token_;
  bool json_ = false;
  bool read_only_ = false;
  CLI::Option *tenant_, *principal_, *scopes_, *profiles_, *lifetime_, *note_;
  std::vector<Command> commands_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_IDENTITY_IDENTITY_COMMAND_LINE_H_
