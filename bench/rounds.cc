#include "bench/rounds.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/machine.h"

namespace sandglass::bench {
namespace {

constexpr double kBusyPercent = 10;

}  // namespace

void Progress(const std::string& what, int done, int of) {
  if (::isatty(STDERR_FILENO) != 0) {
    std::fprintf(stderr, "\r\033[K%s %d of %d%s", what.c_str(), done, of,
                 done == of ? "\n" : "");
  } else if (done == of || done % std::max(1, of / 4) == 0) {
    std::fprintf(stderr, "%s %d of %d\n", what.c_str(), done, of);
  }
}

std::string LoadFromOthers() {
  const CpuTicks start = ReadCpuTicks();
  absl::SleepFor(absl::Seconds(1));
  const CpuTicks end = ReadCpuTicks();
  const double busy = Percent(end.busy - start.busy, end.all - start.all);
  return absl::StrFormat(
      "%.0f %% of the processors in the second before%s", busy,
      busy > kBusyPercent ? ": NOT IDLE, these figures are worth little" : "");
}

}  // namespace sandglass::bench
