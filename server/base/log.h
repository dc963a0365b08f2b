#ifndef SANDGLASS_SERVER_BASE_LOG_H_
#define SANDGLASS_SERVER_BASE_LOG_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace sandglass::server {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kText, kJson };

// Sends events of `level` and above to stderr from now on. Call it while the
// process has one thread. Before that the log is text, of kInfo and above.
void StartLog(LogLevel level, LogFormat format);

// One named value of an event.
struct LogField {
  using Value = std::variant<std::string, int64_t, uint64_t, double, bool>;
  std::string_view key;  // a word of this code base, [a-z_]+
  Value value;
  bool only_if_any = false;  // leaves the field out when it is an empty string
};

// Writes one line: time, level, event, fields. As text
//   2025-01-02T03:04:05.678Z info run_end run_id=… outcome=OK
// and as JSON one object per line. Strings may hold anything: what is not
// printable ASCII is escaped, and each is cut to 1 KiB. Thread-safe.
void Log(LogLevel level, std::string_view event,
         std::initializer_list<LogField> fields = {});

// The number of events of kWarning and above since the process began, whether
// or not the log's level let them through.
struct LogCounts {
  uint64_t warnings;
  uint64_t errors;
};
LogCounts CountsOfLog();

// The line that Log writes; without a time when `time` is empty.
std::string FormatLogLine(LogFormat format, std::string_view time,
                          LogLevel level, std::string_view event,
                          std::initializer_list<LogField> fields);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_LOG_H_
