#include "server/edge/answer_room.h"

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "grpcpp/support/slice.h"
#include "gtest/gtest.h"
#include "server/base/errors.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMax = uint64_t{1} << 20;

grpc::ByteBuffer Bytes(size_t size) {
  const grpc::Slice slice(std::string(size, 'x'));
  return grpc::ByteBuffer(&slice, 1);
}

TEST(AnswerRoom, ACallerWithItsShareIsToldAndOthersHaveTheirs) {
  AnswerRoom room(kMax);
  EXPECT_TRUE(room.Acquire("uid:1", kMax / 4 * 3, "").ok());
  const absl::Status full = room.Acquire("uid:1", 5000, "ask again");
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrorReason(full), "ANSWER_BYTES_FULL");
  EXPECT_THAT(std::string(full.message()),
              HasSubstr("an answer of 5000 bytes beside 786432 bytes of "
                        "answers that uid:1 did not read yet; ask again"));
  EXPECT_TRUE(room.Acquire("uid:2", kMax / 8, "").ok());
  EXPECT_THAT(std::string(room.Acquire("uid:3", kMax / 4, "").message()),
              HasSubstr("that all callers did not read"));
  room.Release("uid:1", kMax / 4 * 3);
  EXPECT_TRUE(room.Acquire("uid:1", 5000, "").ok());
  EXPECT_EQ(room.held(), kMax / 8 + 5000);
}

TEST(HeldAnswer, IsHeldUntilItsCallIsOver) {
  AnswerRoom room(kMax);
  grpc::ByteBuffer response;
  {
    HeldAnswer held(room);
    EXPECT_TRUE(held.Put("uid:1", Bytes(50000), &response).ok());
    EXPECT_EQ(response.Length(), 50000u);
    EXPECT_EQ(room.held(), 50000u);
    // The next one of a stream is in its place.
    EXPECT_TRUE(held.Put("uid:1", Bytes(60000), &response).ok());
    EXPECT_EQ(room.held(), 60000u);
    held.Release();
    EXPECT_EQ(room.held(), 0u);
    EXPECT_TRUE(held.Put("uid:1", Bytes(70000), &response).ok());
  }
  EXPECT_EQ(room.held(), 0u);
}

TEST(HeldAnswer, OnesThatFindNoRoomAreNotSentAndShortOnesAlwaysAre) {
  AnswerRoom room(kMax);
  ASSERT_TRUE(room.Acquire("uid:1", kMax / 4 * 3, "").ok());
  grpc::ByteBuffer response;
  HeldAnswer held(room);
  const absl::Status full = held.Put("uid:1", Bytes(4097), &response);
  EXPECT_EQ(ErrorReason(full), "ANSWER_BYTES_FULL");
  EXPECT_THAT(std::string(full.message()), HasSubstr("was carried out"));
  EXPECT_FALSE(response.Valid());
  EXPECT_TRUE(held.Put("uid:1", Bytes(4096), &response).ok());
  EXPECT_EQ(response.Length(), 4096u);
  EXPECT_EQ(room.held(), kMax / 4 * 3);
  // An error of the method's own is told as it is.
  EXPECT_EQ(held.Put("uid:1", absl::NotFoundError("gone"), &response),
            absl::NotFoundError("gone"));
}

}  // namespace
}  // namespace sandglass::server
