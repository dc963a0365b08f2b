#ifndef SANDGLASS_SANDBOX_FILE_AGENT_FILE_SEARCH_H_
#define SANDGLASS_SANDBOX_FILE_AGENT_FILE_SEARCH_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sandbox/file_agent/file_patterns.h"
#include "sandbox/file_agent/file_task.h"
#include "sandbox/file_agent/tree_walk.h"
#include "sandbox/os/process.h"
#include "sandbox/wire/file_code.h"

namespace sandglass::sandbox {

// The time by which a search has to end; 0 milliseconds: no limit.
class SearchClock {
 public:
  explicit SearchClock(uint32_t millis)
      : end_ns_(millis == 0 ? 0
                            : os::MonotonicNanos() +
                                  int64_t{millis} * int64_t{1'000'000}) {}

  bool Over() const { return end_ns_ != 0 && os::MonotonicNanos() >= end_ns_; }

 private:
  const int64_t end_ns_;
};

// The patterns of a search, by the directory below which each can match.
using PatternsByBase = std::map<std::string, std::vector<PathPattern>>;

// Expands braces. Fails with kInvalidPattern, also when there are too many
// patterns.
FileResult ParsePatterns(const std::string& path, const std::string& pattern,
                         bool hidden, PatternsByBase& patterns);

bool AnyMatches(const std::vector<PathPattern>& patterns,
                absl::string_view path);
bool AnyMayHold(const std::vector<PathPattern>& patterns,
                absl::string_view path, size_t depth);

// A longer path is of no use to a caller: no operation accepts it.
inline constexpr size_t kMaxToldPath = 8 * 1024;

// Joins `base` and `path`, which is below it.
std::string JoinPath(absl::string_view base, absl::string_view path);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILE_AGENT_FILE_SEARCH_H_
