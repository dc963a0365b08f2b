#include "server/edge/answer_room.h"

#include <utility>

#include "server/base/errors.h"

namespace sandglass::server {

absl::Status AnswerRoom::Acquire(const std::string& caller, uint64_t bytes,
                                 std::string_view advice) {
  absl::MutexLock lock(&mutex_);
  switch (shares_.RoomFor(caller, bytes)) {
    case Shares::Room::kYes:
      shares_.Acquire(caller, bytes);
      return absl::OkStatus();
    case Shares::Room::kCallerHasItsShare:
      return AnswerBytesFull(caller, bytes, shares_.held_by(caller), advice);
    case Shares::Room::kNone:
      break;
  }
  return AnswerBytesFull("all callers", bytes, shares_.held(), advice);
}

void AnswerRoom::Release(const std::string& caller, uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  shares_.Release(caller, bytes);
}

uint64_t AnswerRoom::held() const {
  absl::MutexLock lock(&mutex_);
  return shares_.held();
}

absl::Status HeldAnswer::Acquire(const std::string& caller, uint64_t bytes,
                                 std::string_view advice) {
  Release();
  if (bytes <= AnswerRoom::kFreeBytes) return absl::OkStatus();
  absl::Status room = room_.Acquire(caller, bytes, advice);
  if (!room.ok()) return room;
  caller_ = caller;
  bytes_ = bytes;
  return room;
}

void HeldAnswer::Release() {
  if (bytes_ > 0) room_.Release(caller_, std::exchange(bytes_, 0));
}

absl::Status HeldAnswer::Put(const std::string& caller,
                             absl::StatusOr<grpc::ByteBuffer> answer,
                             grpc::ByteBuffer* response,
                             std::string_view advice) {
  if (!answer.ok()) return answer.status();
  absl::Status room = Acquire(caller, answer->Length(), advice);
  if (room.ok()) *response = *std::move(answer);
  return room;
}

}  // namespace sandglass::server
