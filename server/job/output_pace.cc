#include "server/job/output_pace.h"

namespace sandglass::server {

void OutputPace::Record(Stream stream, size_t bytes, MonotonicTime now) {
  const bool paused = end_ > last_;
  const bool rested = now >= After(paused ? end_ : last_, kPause);
  if (rested || stream != stream_) pieces_ = 0;
  stream_ = stream;
  last_ = now;
  if (bytes >= (paused ? kLargeBytesAfterPause : kLargeBytes)) return;
  if (++pieces_ > kPromptPieces) end_ = After(now, kPause);
}

}  // namespace sandglass::server
