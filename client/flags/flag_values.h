#ifndef SANDGLASS_CLIENT_FLAGS_FLAG_VALUES_H_
#define SANDGLASS_CLIENT_FLAGS_FLAG_VALUES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/flags/options.h"

// The name comes from the library.
// NOLINTNEXTLINE(readability-identifier-naming)
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sandglass::client {

// Options with one value, given once or (AddValues) several times. Values are
// used as CLI11 collected them, not as it converts them: it would read "{}" and
// "[a,b]" as lists.
CLI::Option* AddValue(CLI::App& app, const std::string& name,
                      const std::string& help, const std::string& type = "");
CLI::Option* AddValues(CLI::App& app, const std::string& name,
                       const std::string& help, const std::string& type);

// A positional argument with one or more values.
CLI::Option* AddWords(CLI::App& app, const std::string& name,
                      const std::string& help, const std::string& type);

// The last value that was given.
std::optional<std::string> ValueOf(const CLI::Option* option);

// Splits each value at its first '='.
absl::StatusOr<Pairs> PairsOf(const CLI::Option* option);

// Write the option's value to `out`, which isn't changed when there is none.
// The error names the option.
absl::Status ParseTimeSpanFlag(const CLI::Option* option,
                               std::optional<absl::Duration>& out);
absl::Status ParseByteSizeFlag(const CLI::Option* option,
                               std::optional<uint64_t>& out);
absl::Status ParseCountFlag(const CLI::Option* option,
                            std::optional<uint32_t>& out);

// --timeout, --memory, --cpu-time and --pids.
class LimitFlags {
 public:
  explicit LimitFlags(CLI::App& app);
  absl::Status Collect(LimitOptions& limits) const;

 private:
  CLI::Option *timeout_, *memory_, *cpu_time_, *pids_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_FLAGS_FLAG_VALUES_H_
