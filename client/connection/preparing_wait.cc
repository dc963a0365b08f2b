#include "client/connection/preparing_wait.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/base/file_io.h"
#include "client/base/terminal_filter.h"
#include "client/base/units.h"
#include "client/connection/error_text.h"

namespace sandglass::client {
namespace {

constexpr absl::Duration kLongestWait = absl::Minutes(5);
constexpr absl::Duration kFirstPause = absl::Milliseconds(200);
constexpr absl::Duration kLongestPause = absl::Seconds(1);
constexpr absl::Duration kLook = absl::Milliseconds(50);

}  // namespace

PreparingWait::PreparingWait(std::function<void(const std::string&)> say,
                             std::function<bool()> stopped)
    : say_(std::move(say)), stopped_(std::move(stopped)), pause_(kFirstPause) {}

bool PreparingWait::Again(const grpc::Status& status) {
  if (ErrorReason(status) != "LANGUAGE_PREPARING") return false;
  if (!end_) {
    end_ = absl::Now() + kLongestWait;
    // "Java is being prepared for its first use; try again in a few seconds"
    const std::string& message = status.error_message();
    say_(absl::StrCat(VisibleText(message.substr(0, message.find(';'))),
                      "; waiting for it, ", FormatLongTime(kLongestWait),
                      " at most"));
  }
  const absl::Time next = absl::Now() + pause_;
  if (next > *end_) return false;
  pause_ = std::min(2 * pause_, kLongestPause);
  while (absl::Now() < next) {
    if (stopped_ && stopped_()) return false;
    absl::SleepFor(std::min(kLook, next - absl::Now()));
  }
  return true;
}

void SayOnStderr(const std::string& line) {
  WriteAll(STDERR_FILENO, absl::StrCat("sandglass: ", line, "\n"));
}

}  // namespace sandglass::client
