#include "sandbox/wire/uid_slice.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sandglass::sandbox {
namespace {

struct Range {
  uint64_t begin;
  uint64_t end;  // one past the last id
  uint64_t size() const { return end - begin; }
};

// Reads the ranges of ids as they are inside the namespace; each line is
// "inside outside count" (user_namespaces(7)). Adjacent ranges are joined.
std::vector<Range> ReadMap(absl::string_view map) {
  std::vector<Range> ranges;
  for (absl::string_view line : absl::StrSplit(map, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    uint64_t begin = 0;
    uint64_t count = 0;
    if (words.size() == 3 && absl::SimpleAtoi(words[0], &begin) &&
        absl::SimpleAtoi(words[2], &count)) {
      ranges.push_back({begin, begin + count});
    }
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::vector<Range> joined;
  for (const Range& range : ranges) {
    if (!joined.empty() && joined.back().end == range.begin) {
      joined.back().end = range.end;
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

std::vector<Range> Common(const std::vector<Range>& a,
                          const std::vector<Range>& b) {
  std::vector<Range> common;
  for (const Range& x : a) {
    for (const Range& y : b) {
      const Range both = {std::max(x.begin, y.begin), std::min(x.end, y.end)};
      if (both.begin < both.end) common.push_back(both);
    }
  }
  return common;
}

}  // namespace

bool MapsEveryId(absl::string_view uid_map) {
  const std::vector<Range> ranges = ReadMap(uid_map);
  return ranges.size() == 1 && ranges[0].begin == 0 &&
         ranges[0].end == UINT32_MAX;
}

absl::StatusOr<UidSlice> ChooseUidSlice(uid_t first, uint32_t needed,
                                        absl::string_view uid_map,
                                        absl::string_view gid_map) {
  const UidSlice wanted = {.first = first};
  const std::vector<Range> mapped = Common(ReadMap(uid_map), ReadMap(gid_map));
  for (const Range& range : mapped) {
    if (range.begin <= first && range.end >= uint64_t{first} + wanted.count) {
      return wanted;
    }
  }
  if (first != UidSlice{}.first) {
    return absl::FailedPreconditionError(absl::StrCat(
        "uid_base: the ids ", first, " to ", first + wanted.count - 1,
        " are not all mapped in this user namespace (see /proc/self/uid_map "
        "and gid_map); leave \"uid_base\" out to have some chosen"));
  }
  const auto longest = std::max_element(
      mapped.begin(), mapped.end(),
      [](const Range& a, const Range& b) { return a.size() < b.size(); });
  const uint64_t half = longest == mapped.end() ? 0 : longest->size() / 2;
  if (half < needed) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this user namespace has ", 2 * half,
        " uids and gids in a row, and the daemon needs ", 2 * needed,
        ": give its account a larger range in /etc/subuid and /etc/subgid, or "
        "allow fewer runs at once (admission.max_running)"));
  }
  const auto count =
      static_cast<uint32_t>(std::min<uint64_t>(half, wanted.count));
  return UidSlice{static_cast<uid_t>(longest->end - count), count};
}

}  // namespace sandglass::sandbox
