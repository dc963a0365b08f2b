#include "server/job/output_buffer.h"

#include <algorithm>
#include <utility>

#include "policy/text/utf8.h"

namespace sandglass::server {

void OutputBuffer::Append(std::string_view data) {
  total_ += data.size();
  const size_t to_head = std::min(data.size(), head_limit_ - head_.size());
  head_.append(data.substr(0, to_head));
  data.remove_prefix(to_head);
  if (tail_limit_ == 0) return;
  if (data.size() > tail_limit_) data.remove_prefix(data.size() - tail_limit_);
  const size_t to_grow = std::min(data.size(), tail_limit_ - tail_.size());
  tail_.append(data.substr(0, to_grow));
  data.remove_prefix(to_grow);
  while (!data.empty()) {
    const size_t size = std::min(data.size(), tail_.size() - tail_start_);
    tail_.replace(tail_start_, size, data.substr(0, size));
    tail_start_ = (tail_start_ + size) % tail_.size();
    data.remove_prefix(size);
  }
}

StreamResult OutputBuffer::Collect() {
  StreamResult result;
  result.total_bytes = std::exchange(total_, 0);
  result.truncated = result.total_bytes > head_.size() + tail_.size();
  std::rotate(tail_.begin(),
              tail_.begin() + static_cast<ptrdiff_t>(tail_start_), tail_.end());
  tail_start_ = 0;
  if (result.truncated) {
    // No character is left in part, which readers would show as a wrong one.
    head_.resize(head_.size() - policy::CutCharacterAtEnd(head_));
    tail_.erase(0, policy::CutCharacterAtStart(tail_));
  }
  result.head_bytes = head_.size();
  result.data = std::exchange(head_, {});
  result.data += std::exchange(tail_, {});
  if (!result.truncated) result.head_bytes = result.data.size();
  return result;
}

}  // namespace sandglass::server
