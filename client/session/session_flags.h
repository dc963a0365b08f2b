#ifndef SANDGLASS_CLIENT_SESSION_SESSION_FLAGS_H_
#define SANDGLASS_CLIENT_SESSION_SESSION_FLAGS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

// The name is the library's.
// NOLINTNEXTLINE(readability-identifier-naming)
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sandglass::client {

// Options that several commands of `sandglass session` have.
CLI::Option* AddSessionId(CLI::App& app);
CLI::Option* AddIdleTimeout(CLI::App& app);
CLI::Option* AddMaxAge(CLI::App& app);
CLI::Option* AddEnv(CLI::App& app);

absl::Status Wrong(absl::string_view what);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_SESSION_FLAGS_H_
