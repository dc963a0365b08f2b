#include "server/pool/fill_grace.h"

#include <chrono>

#include "gtest/gtest.h"
#include "sandbox/yard/spawner_event.h"

namespace sandglass::server {
namespace {

using std::chrono::seconds;

class FillPatienceTest : public ::testing::Test {
 protected:
  bool IsStarting(const std::string& kind, const absl::Status& status,
                  seconds after) {
    const absl::Status judged = patience_.Judge(kind, status, start_ + after);
    EXPECT_EQ(judged.code(), status.code());
    EXPECT_EQ(judged.message(), status.message());
    return sandbox::IsZygoteStarting(judged);
  }

  FillGrace patience_{absl::Seconds(10)};
  const MonotonicTime start_ = Now();
  const absl::Status starting_ = sandbox::ZygoteStarting();
};

TEST_F(FillPatienceTest, EndsForAZygoteThatNeverServes) {
  EXPECT_TRUE(IsStarting("ruby", starting_, seconds(0)));
  EXPECT_TRUE(IsStarting("ruby", starting_, seconds(9)));
  EXPECT_FALSE(IsStarting("ruby", starting_, seconds(10)));
  EXPECT_FALSE(IsStarting("ruby", starting_, seconds(100)));
}

TEST_F(FillPatienceTest, EachKindHasItsOwn) {
  EXPECT_TRUE(IsStarting("ruby", starting_, seconds(0)));
  EXPECT_TRUE(IsStarting("python", starting_, seconds(20)));
}

// One that served and is started again begins anew.
TEST_F(FillPatienceTest, BeginsAnewAfterAnotherEnd) {
  for (const absl::Status& end :
       {absl::OkStatus(), absl::InternalError("a step failed")}) {
    EXPECT_TRUE(IsStarting("ruby", starting_, seconds(0)));
    EXPECT_FALSE(IsStarting("ruby", end, seconds(5)));
    EXPECT_TRUE(IsStarting("ruby", starting_, seconds(12)));
    EXPECT_FALSE(IsStarting("ruby", end, seconds(13)));
  }
}

}  // namespace
}  // namespace sandglass::server
