#ifndef SANDGLASS_SERVER_EXEC_EXEC_OUTPUT_H_
#define SANDGLASS_SERVER_EXEC_EXEC_OUTPUT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "server/job/job.h"
#include "server/session/disk_budget.h"

namespace sandglass::server {

// Counts the bytes of output that are kept of one session, which count for its
// caller, too.
class KeptBytes {
 public:
  KeptBytes(uint64_t max, std::shared_ptr<DiskBudget> of_caller)
      : max_(max), of_caller_(std::move(of_caller)) {}
  KeptBytes(const KeptBytes&) = delete;
  KeptBytes& operator=(const KeptBytes&) = delete;
  void Add(uint64_t bytes) {
    bytes_ += bytes;
    of_caller_->Force(bytes);
  }
  void Remove(uint64_t bytes) {
    bytes_ -= bytes;
    of_caller_->Release(bytes);
  }
  bool full() const { return bytes_ >= max_ || of_caller_->full(); }
  uint64_t bytes() const { return bytes_; }

 private:
  const uint64_t max_;
  const std::shared_ptr<DiskBudget> of_caller_;
  uint64_t bytes_ = 0;
};

// The output that a command wrote last, in numbered pieces. Use it from one
// thread at a time.
class ExecOutput {
 public:
  // A piece has at most this many bytes.
  static constexpr size_t kMaxPieceBytes = size_t{64} << 10;
  // So much of a command's output is kept, however little room there is
  // elsewhere.
  static constexpr uint64_t kMinKept = uint64_t{64} << 10;
  // A lower limit is raised to this one; otherwise the pieces would be tiny.
  static constexpr uint64_t kMinLimit = uint64_t{8} << 10;

  struct Piece {
    uint64_t sequence;
    Stream stream;
    std::string data;
    uint64_t offset;  // the place of data[0] in its stream
    absl::Duration since_start;
  };
  // A position in both streams.
  struct Place {
    uint64_t stdout_bytes = 0;
    uint64_t stderr_bytes = 0;
  };
  struct Gap {
    uint64_t next_sequence = 0;
    Place missing;
  };

  // Keeps the last `limit` bytes, or somewhat less, as long as `kept` isn't
  // full. `kept` must outlive this object.
  ExecOutput(uint64_t limit, KeptBytes& kept)
      : limit_(std::max(limit, kMinLimit)), kept_(kept) {}
  ~ExecOutput() { kept_.Remove(bytes_); }
  ExecOutput(const ExecOutput&) = delete;
  ExecOutput& operator=(const ExecOutput&) = delete;

  // The most bytes that the next Append should get.
  size_t piece_bytes() const;
  // True when more output would drop some that is kept.
  bool full() const;
  // Adds output; `data` must not be empty. Drops the oldest pieces to make
  // room, but none from number `wanted_from` on.
  void Append(Stream stream, std::string_view data, absl::Duration since_start,
              uint64_t wanted_from);
  // Drops what exceeds the limit, once those for whom it was kept have taken
  // it.
  void Trim(uint64_t wanted_from);
  // Drops the oldest piece; returns false when there is none.
  bool DropOldest();

  // Returns what was written last to both streams: `min` bytes or up to one
  // piece more, or everything that is kept.
  std::string Tail(size_t min) const;
  // Returns the first piece with a number of at least `sequence`, or null.
  // Nothing is added to that piece any more. The pointer is valid until the
  // next change.
  const Piece* Find(uint64_t sequence);
  // Returns what is missing between `sequence` and the first piece that is
  // kept; 0 and 1 mean the start. If nothing is missing, its `next_sequence` is
  // 0. Bytes of pieces that were dropped long ago are not counted.
  Gap GapAt(uint64_t sequence) const;

  uint64_t first_sequence() const {
    return pieces_.empty() ? next_sequence_ : pieces_.front().sequence;
  }
  uint64_t next_sequence() const { return next_sequence_; }
  // The same, for a number that somebody is told: nothing is added to the last
  // piece any more.
  uint64_t SealNextSequence();
  const Place& written() const { return written_; }
  uint64_t kept_bytes() const { return bytes_; }

 private:
  struct Dropped {
    uint64_t sequence;
    Place begin;
  };

  bool OverLimit() const;

  const uint64_t limit_;
  KeptBytes& kept_;
  std::deque<Piece> pieces_;
  uint64_t bytes_ = 0;
  uint64_t next_sequence_ = 1;
  bool sealed_ = true;  // nothing is added to the last piece
  Place written_;
  Place first_;                  // where the first piece begins
  std::deque<Dropped> dropped_;  // only the latest ones
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EXEC_EXEC_OUTPUT_H_
