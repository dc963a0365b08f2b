#ifndef SANDGLASS_CLIENT_SESSION_COMMAND_LINE_H_
#define SANDGLASS_CLIENT_SESSION_COMMAND_LINE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/session_options.h"

// The name is the library's.
// NOLINTNEXTLINE(readability-identifier-naming)
namespace CLI {
class App;
}  // namespace CLI

namespace sandglass::client {

// `sandglass session …` on the command line: adds its commands to a parser and
// takes what was given to them.
class SessionCommandLine {
 public:
  explicit SessionCommandLine(CLI::App& app);
  SessionCommandLine(const SessionCommandLine&) = delete;
  SessionCommandLine& operator=(const SessionCommandLine&) = delete;

  // All once the parser is through.
  bool parsed() const;
  // "session " or, for example, "session run ".
  std::string Path() const;
  absl::StatusOr<SessionOptions> Take() const;

 private:
  struct Command {
    CLI::App* app;
    std::function<absl::StatusOr<SessionOptions>()> take;
  };
  CLI::App& Add(const std::string& name, const std::string& help);
  void AddCreate();
  void AddList();
  void AddInfo();
  void AddRun();
  void AddUpdate();
  void AddVerb(SessionVerb verb, const std::string& name,
               const std::string& help);
  void AddKernelVerb(KernelVerb verb, const std::string& name,
                     const std::string& help);
  void AddDelete();

  CLI::App* session_;
  std::vector<Command> commands_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_COMMAND_LINE_H_
