#ifndef SANDGLASS_CLIENT_SESSION_SESSION_COMMAND_LINE_H_
#define SANDGLASS_CLIENT_SESSION_SESSION_COMMAND_LINE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/session/session_options.h"

// The name comes from the library.
// NOLINTNEXTLINE(readability-identifier-naming)
namespace CLI {
class App;
}  // namespace CLI

namespace sandglass::client {

// `sandglass session …` on the command line: adds its commands to a parser and
// reads what was given to them.
class SessionCommandLine {
 public:
  explicit SessionCommandLine(CLI::App& app);
  SessionCommandLine(const SessionCommandLine&) = delete;
  SessionCommandLine& operator=(const SessionCommandLine&) = delete;

  // Call these only after parsing.
  bool parsed() const;
  // `words` are the arguments after "--", if there was one.
  absl::StatusOr<SessionOptions> Collect(
      std::optional<std::vector<std::string>> words);

 private:
  struct Command {
    CLI::App* app;
    std::function<absl::StatusOr<SessionOptions>()> take;
    bool has_words = false;
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
  // These are in session_file_flags.cc.
  void AddPut();
  void AddGet();
  void AddCat();
  void AddLs();
  void AddSnapshot();
  void AddRestore();
  // These are in session_exec_flags.cc.
  void AddExec();
  void AddShell();
  void AddAttach();
  void AddPs();
  void AddStop();
  void AddForward();
  void AddLink();
  void AddFork();

  CLI::App* session_;
  std::vector<Command> commands_;
  std::vector<std::string> words_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_SESSION_COMMAND_LINE_H_
