#ifndef SANDGLASS_CLIENT_OPERATOR_TOP_SCREEN_H_
#define SANDGLASS_CLIENT_OPERATOR_TOP_SCREEN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sandglass/v1/operator.pb.h"
#include "sandglass/v1/run.pb.h"
#include "sandglass/v1/session.pb.h"

namespace sandglass::client {

// What a daemon reported at one time.
struct TopSnapshot {
  v1::GetStatusResponse status;
  v1::ListRunsResponse active;  // queued and running
  v1::ListRunsResponse ended;   // newest first
  v1::ListSessionsResponse sessions;
};

// The size of a terminal; 0: no limit.
struct ScreenSize {
  size_t rows = 0;
  size_t columns = 0;
};

struct ScreenLine {
  enum class Look { kPlain, kTitle, kAlert };
  std::string text;
  Look look = Look::kPlain;
};

// The screen of `sandglass top`: its lines fit in number and length, and have
// no control characters. Rates are computed between `before`, which may be
// null, and `now`. `trouble` says why there is nothing newer; empty: there is.
std::vector<ScreenLine> TopLines(const TopSnapshot* before,
                                 const TopSnapshot& now,
                                 absl::string_view trouble, ScreenSize size);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_OPERATOR_TOP_SCREEN_H_
