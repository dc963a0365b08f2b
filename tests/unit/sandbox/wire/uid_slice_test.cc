#include "sandbox/wire/uid_slice.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::sandbox {
namespace {

using ::testing::HasSubstr;

constexpr uid_t kDefault = UidSlice{}.first;
constexpr char kHost[] = "         0          0 4294967295\n";
// As newuidmap makes it for uid 1001 and one range in /etc/subuid.
constexpr char kRootless[] = "0 1001 1\n1 100000 65536\n";

absl::StatusOr<UidSlice> Choose(const char* map, uid_t first = kDefault,
                                uint32_t needed = UidsFor(20)) {
  return ChooseUidSlice(first, needed, map, map);
}

std::string Error(const char* map, uid_t first = kDefault) {
  return std::string(Choose(map, first).status().message());
}

TEST(UidSlice, IsWhatIsConfiguredWhereThatIsMapped) {
  for (const uid_t first : {kDefault, 200000u}) {
    const auto slice = Choose(kHost, first);
    ASSERT_TRUE(slice.ok()) << slice.status();
    EXPECT_EQ(slice->first, first);
    EXPECT_EQ(slice->count, 65536u);
  }
}

TEST(UidSlice, IsTheUpperHalfWhereTheDefaultIsNotMapped) {
  const auto slice = Choose(kRootless);
  ASSERT_TRUE(slice.ok()) << slice.status();
  // The two ranges touch, inside.
  EXPECT_EQ(slice->first, 32769u);
  EXPECT_EQ(slice->count, 32768u);
}

TEST(UidSlice, IsNeverLargerThanAYardNeeds) {
  const auto slice = Choose("0 1001 1\n1 100000 1000000\n");
  ASSERT_TRUE(slice.ok()) << slice.status();
  EXPECT_EQ(slice->count, 65536u);
  EXPECT_EQ(slice->first + slice->count, 1000001u);
}

TEST(UidSlice, ComesFromTheLongestRunThatBothMapsHave) {
  const auto slice =
      ChooseUidSlice(kDefault, UidsFor(20), "0 1 10000\n20000 50000 30000\n",
                     "0 1 10000\n20000 50000 20000\n");
  ASSERT_TRUE(slice.ok()) << slice.status();
  EXPECT_EQ(slice->first, 30000u);
  EXPECT_EQ(slice->count, 10000u);
}

TEST(UidSlice, SaysWhatToDoAboutTooFewIds) {
  EXPECT_THAT(Error("0 1001 1\n"), HasSubstr("/etc/subuid"));
  EXPECT_THAT(Error(""), HasSubstr("/etc/subuid"));
  EXPECT_THAT(Error("0 100000 2000\n"), HasSubstr("admission.max_running"));
}

TEST(UidSlice, NeverReplacesWhatSomebodyChose) {
  EXPECT_THAT(Error(kRootless, 200000), HasSubstr("uid_base: the ids 200000"));
}

TEST(UidSlice, KnowsTheHostsOwnUserNamespace) {
  EXPECT_TRUE(MapsEveryId(kHost));
  EXPECT_FALSE(MapsEveryId(kRootless));
  EXPECT_FALSE(MapsEveryId("0 100000 65536\n"));
}

}  // namespace
}  // namespace sandglass::sandbox
