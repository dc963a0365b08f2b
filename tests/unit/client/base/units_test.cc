#include "client/base/units.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace sandglass::client {
namespace {

TEST(UnitsTest, ReadsTimes) {
  const std::vector<std::pair<const char*, absl::Duration>> cases = {
      {"5s", absl::Seconds(5)},
      {"500ms", absl::Milliseconds(500)},
      {"1m30s", absl::Seconds(90)},
      {"1.5h", absl::Minutes(90)},
      {"5", absl::Seconds(5)},
      {"0.25", absl::Milliseconds(250)},
      {"1ms", absl::Milliseconds(1)},
      {"720h", absl::Hours(720)},
      {"1.0000000007s", absl::Seconds(1)}};
  for (const auto& [text, expected] : cases) {
    const auto parsed = ParseTimeSpan(text);
    ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.status();
    EXPECT_EQ(*parsed, expected) << text;
  }
}

TEST(UnitsTest, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "x", "5x", "-5s", "-1", "0", "0s", "0.5ms", "inf", "-inf", "nan",
        "721h", "99999999999999999999", "1e3", "5 s", ".", "1.2.3"}) {
    EXPECT_FALSE(ParseTimeSpan(text).ok()) << text;
  }
}

TEST(UnitsTest, ReadsSizes) {
  const std::vector<std::pair<const char*, uint64_t>> cases = {
      {"1", 1},
      {"1048576", 1048576},
      {"512K", 524288},
      {"256M", 268435456},
      {"256m", 268435456},
      {"256MiB", 268435456},
      {"256mi", 268435456},
      {"1.5G", 1610612736},
      {"2T", 2199023255552},
      {"7b", 7},
      {"1024T", uint64_t{1} << 50}};
  for (const auto& [text, expected] : cases) {
    const auto parsed = ParseByteSize(text);
    ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.status();
    EXPECT_EQ(*parsed, expected) << text;
  }
}

TEST(UnitsTest, RefusesWhatIsNoSize) {
  for (const char* text :
       {"", "M", "-1M", "256MB", "256X", "1025T", "0", "0.1", "1e9", "nan",
        "inf", "1.2.3M", "256 M", "0x10", "99999999999999999999999999T"}) {
    EXPECT_FALSE(ParseByteSize(text).ok()) << text;
  }
}

TEST(UnitsTest, ShowsTimes) {
  EXPECT_EQ(FormatTimeSpan(absl::Microseconds(420)), "0.42 ms");
  EXPECT_EQ(FormatTimeSpan(absl::Microseconds(12340)), "12.3 ms");
  EXPECT_EQ(FormatTimeSpan(absl::Microseconds(999999)), "1.00 s");
  EXPECT_EQ(FormatTimeSpan(absl::Seconds(5)), "5.00 s");
  EXPECT_EQ(FormatTimeSpan(absl::Seconds(125)), "125 s");
  // By a clock that was set back meanwhile.
  EXPECT_EQ(FormatTimeSpan(-absl::Hours(1)), "0.00 ms");
  EXPECT_EQ(FormatLongTime(-absl::Hours(1)), "0");
}

TEST(UnitsTest, ShowsSizes) {
  EXPECT_EQ(FormatByteSize(0), "0 B");
  EXPECT_EQ(FormatByteSize(1023), "1023 B");
  EXPECT_EQ(FormatByteSize(1536), "1.5 KiB");
  EXPECT_EQ(FormatByteSize(256 << 20), "256 MiB");
  EXPECT_EQ(FormatByteSize((1 << 20) - 1), "1 MiB");
}

TEST(UnitsTest, ConvertsDurationsBothWays) {
  const absl::Duration duration = absl::Seconds(3) + absl::Nanoseconds(7);
  EXPECT_EQ(ToProto(duration).seconds(), 3);
  EXPECT_EQ(ToProto(duration).nanos(), 7);
  EXPECT_EQ(FromProto(ToProto(duration)), duration);
}

}  // namespace
}  // namespace sandglass::client
