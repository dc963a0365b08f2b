#include "server/exec/exec_output.h"

#include <algorithm>

namespace sandglass::server {
namespace {

constexpr size_t kMaxPieces = 16 * 1024;
// So many dropped pieces' places are remembered, for clients that ask from
// there on.
constexpr size_t kMaxDropped = 1024;

uint64_t& BytesOf(Stream stream, ExecOutput::Place& place) {
  return stream == Stream::kStdout ? place.stdout_bytes : place.stderr_bytes;
}

}  // namespace

size_t ExecOutput::piece_bytes() const {
  return static_cast<size_t>(std::min<uint64_t>(limit_ / 2, kMaxPieceBytes));
}

bool ExecOutput::full() const {
  return bytes_ + piece_bytes() > limit_ || pieces_.size() >= kMaxPieces ||
         (bytes_ >= kMinKept && kept_.full());
}

bool ExecOutput::OverLimit() const {
  return bytes_ > limit_ || pieces_.size() > kMaxPieces ||
         (bytes_ > kMinKept && kept_.full());
}

void ExecOutput::Append(Stream stream, std::string_view data,
                        absl::Duration since_start, uint64_t wanted_from) {
  uint64_t& end = BytesOf(stream, written_);
  if (!sealed_ && pieces_.back().stream == stream &&
      pieces_.back().data.size() + data.size() <= piece_bytes()) {
    pieces_.back().data.append(data);
  } else {
    pieces_.push_back(
        {next_sequence_++, stream, std::string(data), end, since_start});
    sealed_ = false;
  }
  end += data.size();
  bytes_ += data.size();
  kept_.Add(data.size());
  Trim(wanted_from);
}

void ExecOutput::Trim(uint64_t wanted_from) {
  while (OverLimit() && first_sequence() < wanted_from && DropOldest()) {
  }
}

bool ExecOutput::DropOldest() {
  if (pieces_.empty()) return false;
  const Piece& oldest = pieces_.front();
  dropped_.push_back({oldest.sequence, first_});
  if (dropped_.size() > kMaxDropped) dropped_.pop_front();
  bytes_ -= oldest.data.size();
  kept_.Remove(oldest.data.size());
  BytesOf(oldest.stream, first_) += oldest.data.size();
  pieces_.pop_front();
  if (pieces_.empty()) sealed_ = true;
  return true;
}

std::string ExecOutput::Tail(size_t min) const {
  std::string tail;
  for (auto piece = pieces_.rbegin();
       piece != pieces_.rend() && tail.size() < min; ++piece) {
    tail.insert(0, piece->data);
  }
  return tail;
}

const ExecOutput::Piece* ExecOutput::Find(uint64_t sequence) {
  if (sequence >= next_sequence_ || pieces_.empty()) return nullptr;
  const uint64_t first = pieces_.front().sequence;
  const Piece& piece = pieces_[sequence <= first ? 0 : sequence - first];
  if (piece.sequence + 1 == next_sequence_) sealed_ = true;
  return &piece;
}

uint64_t ExecOutput::SealNextSequence() {
  sealed_ = true;
  return next_sequence_;
}

ExecOutput::Gap ExecOutput::GapAt(uint64_t sequence) const {
  const uint64_t first = first_sequence();
  const uint64_t from = std::max<uint64_t>(sequence, 1);
  if (from >= first) return {};
  Place begin;
  if (from > 1) {
    const auto known =
        std::ranges::lower_bound(dropped_, from, {}, &Dropped::sequence);
    begin = known == dropped_.end() ? first_ : known->begin;
  }
  return {first,
          {first_.stdout_bytes - begin.stdout_bytes,
           first_.stderr_bytes - begin.stderr_bytes}};
}

}  // namespace sandglass::server
