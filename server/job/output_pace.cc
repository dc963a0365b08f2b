#include "server/job/output_pace.h"

#include <algorithm>

namespace sandglass::server {

void OutputPace::Record(Stream stream, size_t bytes, size_t max,
                        MonotonicTime now) {
  const bool paused = end_ > last_;
  const bool rested = now >= After(paused ? end_ : last_, kPause);
  if (rested || stream != stream_) pieces_ = 0;
  stream_ = stream;
  last_ = now;
  const size_t large = std::min(paused ? kLargeBytesAfterPause : kLargeBytes,
                                std::max<size_t>(max / 2, 1));
  if (bytes >= large) return;
  if (++pieces_ > kPromptPieces) end_ = After(now, kPause);
}

}  // namespace sandglass::server
