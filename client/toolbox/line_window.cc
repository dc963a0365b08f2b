#include "client/toolbox/line_window.h"

#include <algorithm>

#include "client/toolbox/clean_text.h"

namespace sandglass::client {

LineWindow::LineWindow(uint64_t first, uint64_t lines, size_t room)
    : first_(std::max<uint64_t>(first, 1)),
      lines_(lines),
      room_(room),
      next_(first_) {}

void LineWindow::Feed(absl::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const bool whole = end != absl::string_view::npos;
    const absl::string_view part = bytes.substr(0, whole ? end + 1 : end);
    bytes.remove_prefix(part.size());
    line_begun_ = true;
    if (!full_ && line_ >= first_) Append(part);
    if (whole) EndLine();
  }
}

void LineWindow::Finish() {
  if (line_begun_) EndLine();
}

void LineWindow::Append(absl::string_view bytes) {
  // A line that doesn't fit isn't kept to its end; one byte more than there is
  // room for is enough to notice that.
  const size_t fits = std::min(bytes.size(), room_ + 1 - pending_.size());
  pending_.append(bytes.data(), fits);
  pending_cut_ += bytes.size() - fits;
}

void LineWindow::EndLine() {
  if (!full_ && line_ >= first_) {
    const CleanPiece piece = CleanHead(pending_, room_ - text_.size());
    const bool whole = piece.taken == pending_.size();
    if (whole || text_.empty()) {
      text_ += piece.text;
      cut_bytes_ = pending_.size() - piece.taken + pending_cut_;
      next_ = line_ + 1;
    }
    full_ = !whole || (lines_ > 0 && next_ - first_ >= lines_);
    pending_.clear();
    pending_cut_ = 0;
  }
  ++line_;
  line_begun_ = false;
}

}  // namespace sandglass::client
