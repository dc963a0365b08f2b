#ifndef SANDGLASS_SERVER_EDGE_ANSWER_ROOM_H_
#define SANDGLASS_SERVER_EDGE_ANSWER_ROOM_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/base/shares.h"

namespace sandglass::server {

// Memory for answers that their clients have not read yet: gRPC keeps an answer
// until its client takes it, which may never happen. It is shared by the rule
// of Shares, with the last quarter as the reserve. Thread-safe.
class AnswerRoom {
 public:
  // An answer up to this size is covered by what a call takes anyway.
  static constexpr uint64_t kFreeBytes = 4096;

  explicit AnswerRoom(uint64_t bytes) : shares_(WithReserveWithin(bytes)) {}
  AnswerRoom(const AnswerRoom&) = delete;
  AnswerRoom& operator=(const AnswerRoom&) = delete;

  // Takes room for an answer. When there is none for that caller, returns
  // AnswerBytesFull with `advice` and takes nothing.
  absl::Status Acquire(const std::string& caller, uint64_t bytes,
                       std::string_view advice) ABSL_LOCKS_EXCLUDED(mutex_);
  // Gives back what the caller had taken before.
  void Release(const std::string& caller, uint64_t bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);

  uint64_t held() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable absl::Mutex mutex_;
  Shares shares_ ABSL_GUARDED_BY(mutex_);
};

// What one call's answer takes of an AnswerRoom. It is a member of the call, so
// that it is given back when the call is over, which is when its client has
// read the answer or has gone. Use it from one thread at a time.
class HeldAnswer {
 public:
  // The advice for a call whose work was done.
  static constexpr std::string_view kDone =
      "the call was carried out, only its answer is missing";

  // `room` must outlive this object.
  explicit HeldAnswer(AnswerRoom& room) : room_(room) {}
  ~HeldAnswer() { Release(); }
  HeldAnswer(const HeldAnswer&) = delete;
  HeldAnswer& operator=(const HeldAnswer&) = delete;

  // Does AnswerRoom::Acquire, and gives back what this object held before.
  absl::Status Acquire(const std::string& caller, uint64_t bytes,
                       std::string_view advice);
  void Release();

  // If `answer` is a message and there is room for it, puts it into `response`,
  // from where gRPC sends it. Returns the status with which the call ends.
  // `advice` is as for Take: it says what became of the call's effects.
  absl::Status Put(const std::string& caller,
                   absl::StatusOr<grpc::ByteBuffer> answer,
                   grpc::ByteBuffer* response, std::string_view advice = kDone);

 private:
  AnswerRoom& room_;
  std::string caller_;
  uint64_t bytes_ = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_ANSWER_ROOM_H_
