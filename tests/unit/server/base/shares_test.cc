#include "server/base/shares.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace sandglass::server {
namespace {

using Room = Shares::Room;

// As much as there is room for, one at a time.
uint64_t TakeAll(Shares& shares, const std::string& caller) {
  uint64_t taken = 0;
  while (shares.RoomFor(caller) == Room::kYes) {
    shares.Acquire(caller);
    ++taken;
  }
  return taken;
}

TEST(Shares, ACallerAloneHasAllButTheReserve) {
  Shares shares({.max = 64, .reserve = 16});
  EXPECT_EQ(TakeAll(shares, "a"), 64u);
  EXPECT_EQ(shares.RoomFor("a"), Room::kCallerHasItsShare);
}

TEST(Shares, ALaterCallerHasHalfOfWhatIsLeft) {
  Shares shares({.max = 64, .reserve = 16});
  TakeAll(shares, "a");
  std::vector<uint64_t> others;
  for (const char* caller : {"b", "c", "d", "e", "f"}) {
    others.push_back(TakeAll(shares, caller));
  }
  EXPECT_EQ(others, (std::vector<uint64_t>{8, 4, 2, 1, 1}));
  EXPECT_EQ(shares.RoomFor("g"), Room::kNone);
  EXPECT_EQ(shares.RoomFor("b"), Room::kNone);
}

// However they come: as long as fewer callers than the reserve has room for
// hold something, one that holds nothing gets some.
TEST(Shares, OneCallerNeverShutsOutAnother) {
  for (uint64_t max = 1; max <= 40; ++max) {
    for (uint64_t reserve = 1; reserve <= 20; ++reserve) {
      Shares shares({.max = max, .reserve = reserve});
      TakeAll(shares, "greedy");
      EXPECT_EQ(shares.RoomFor("new"), Room::kYes) << max << " " << reserve;
      // Nor does it by giving some back and taking them again.
      shares.Release("greedy");
      TakeAll(shares, "greedy");
      EXPECT_EQ(shares.RoomFor("new"), Room::kYes) << max << " " << reserve;
      EXPECT_EQ(shares.held(), max);
    }
  }
}

// A reserve that is larger than the bound is for others all the same.
TEST(Shares, NoCallerAloneGoesBeyondWhatThereIsForAll) {
  Shares shares({.max = 1, .reserve = 8});
  EXPECT_EQ(TakeAll(shares, "a"), 1u);
  EXPECT_EQ(TakeAll(shares, "b"), 1u);
  EXPECT_EQ(shares.RoomFor("a"), Room::kCallerHasItsShare);
}

TEST(Shares, WhatIsGivenBackGoesToWhomHoldsLittle) {
  Shares shares({.max = 4, .reserve = 2});
  TakeAll(shares, "a");
  EXPECT_EQ(TakeAll(shares, "b"), 1u);
  EXPECT_EQ(TakeAll(shares, "c"), 1u);
  shares.Release("a");
  // Five of four are held still, and one is left for who has none.
  EXPECT_NE(shares.RoomFor("a"), Room::kYes);
  EXPECT_EQ(shares.RoomFor("d"), Room::kYes);
  shares.Release("a");
  shares.Release("a");
  EXPECT_EQ(shares.RoomFor("a"), Room::kYes);
}

TEST(Shares, AnAmountCountsAsAWhole) {
  Shares bytes({.max = 750, .reserve = 250, .max_per_caller = 500});
  bytes.Acquire("a", 450);
  EXPECT_EQ(bytes.RoomFor("a", 51), Room::kCallerHasItsShare);
  EXPECT_EQ(bytes.RoomFor("a", 50), Room::kYes);
  EXPECT_EQ(bytes.RoomFor("b", 300), Room::kYes);
  EXPECT_EQ(bytes.RoomFor("b", 550), Room::kYes) << "it holds nothing";
  EXPECT_EQ(bytes.RoomFor("b", 551), Room::kNone);
  bytes.Acquire("b", 300);
  EXPECT_EQ(bytes.RoomFor("c", 250), Room::kYes);
  EXPECT_EQ(bytes.RoomFor("c", UINT64_MAX), Room::kNone);
  EXPECT_EQ(bytes.RoomFor("a", UINT64_MAX), Room::kCallerHasItsShare);
}

TEST(Shares, WhatIsTooLargeForAllBoundsHasRoomAlone) {
  Shares bytes({.max = 10, .max_per_caller = 5});
  EXPECT_EQ(bytes.RoomFor("a", 1000), Room::kYes);
  bytes.Acquire("a", 1000);
  EXPECT_EQ(bytes.RoomFor("b", 1), Room::kNone);
  bytes.Release("a", 1000);
  EXPECT_EQ(bytes.held_by("a"), 0u);
  EXPECT_EQ(bytes.RoomFor("b", 1), Room::kYes);
}

TEST(Shares, AnEmptyBoundHasNoRoom) {
  EXPECT_EQ(Shares({}).RoomFor("a"), Room::kNone);
}

TEST(Shares, AQuarterOfABoundIsItsReserve) {
  for (const uint64_t bound : {0, 1, 2, 3, 4, 16, 1000}) {
    const SharesOptions options = WithReserveWithin(bound);
    EXPECT_EQ(options.max + options.reserve, bound);
    EXPECT_EQ(options.reserve, bound < 2 ? 0 : (bound + 3) / 4);
  }
}

}  // namespace
}  // namespace sandglass::server
