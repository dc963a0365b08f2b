#ifndef SANDGLASS_SERVER_JOB_OUTPUT_BUFFER_H_
#define SANDGLASS_SERVER_JOB_OUTPUT_BUFFER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "server/job/job.h"

namespace sandglass::server {

// Keeps at most `limit` bytes of a stream: everything if it fits, otherwise
// half of that from its beginning and half from its end, less what would be a
// part of a character there. Its memory grows with
// what is kept, not with the limit.
class OutputBuffer {
 public:
  explicit OutputBuffer(uint64_t limit)
      : head_limit_(limit - limit / 2), tail_limit_(limit / 2) {}

  void Append(std::string_view data);
  uint64_t total_bytes() const { return total_; }
  // Returns what was kept; the buffer is empty afterwards.
  StreamResult Collect();

 private:
  const uint64_t head_limit_;
  const uint64_t tail_limit_;
  uint64_t total_ = 0;
  std::string head_;
  std::string tail_;       // a ring once it is tail_limit_ long
  size_t tail_start_ = 0;  // oldest byte of the ring
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_OUTPUT_BUFFER_H_
