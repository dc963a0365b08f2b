#ifndef SANDGLASS_CLIENT_CERT_CERT_COMMAND_LINE_H_
#define SANDGLASS_CLIENT_CERT_CERT_COMMAND_LINE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "client/cert/cert_options.h"

// The name comes from the library.
// NOLINTNEXTLINE(readability-identifier-naming)
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sandglass::client {

// `sandglass cert …` on the command line.
class CertCommandLine {
 public:
  explicit CertCommandLine(CLI::App& app);
  CertCommandLine(const CertCommandLine&) = delete;
  CertCommandLine& operator=(const CertCommandLine&) = delete;

  // Call these only after parsing.
  bool parsed() const;
  absl::StatusOr<CertOptions> Collect() const;

 private:
  struct Command {
    CertOptions::Act act;
    CLI::App* app;
    CLI::Option* names = nullptr;
    CLI::Option* dir = nullptr;
    CLI::Option* days = nullptr;
    CLI::Option* hosts = nullptr;
    CLI::Option* tenant = nullptr;
  };
  Command& Add(CertOptions::Act act, const char* name, const char* help);
  void AddDir(Command& command);
  void AddForce(Command& command);

  CLI::App* cert_;
  bool force_ = false;
  bool json_ = false;
  std::vector<Command> commands_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CERT_CERT_COMMAND_LINE_H_
