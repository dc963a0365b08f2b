// What a request asks for, beside what its profile gives.
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/limits/limit_fields.h"
#include "policy/profile/profile.h"

namespace sandglass::policy {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kMiB = uint64_t{1} << 20;

Profile DefaultProfile() { return {.name = "default"}; }

TEST(ApplyRequest, EmptyRequestGetsTheDefaults) {
  std::vector<FieldViolation> violations;
  EXPECT_EQ(ApplyRequest(DefaultProfile(), {}, violations), Limits());
  EXPECT_THAT(violations, IsEmpty());
}

TEST(ApplyRequest, TightensEveryLimit) {
  std::vector<FieldViolation> violations;
  const LimitRequest request = {.wall_time = absl::Seconds(1),
                                .cpu_time = absl::Seconds(2),
                                .memory_bytes = 64 * kMiB,
                                .max_processes = 3,
                                .cpu_millis = 500,
                                .tmp_bytes = kMiB,
                                .workspace_bytes = 2 * kMiB,
                                .max_files = 100,
                                .output_bytes = 1000,
                                .output_total_bytes = 2000,
                                .open_files = 99,
                                .file_size_bytes = 8192};
  const Limits limits = ApplyRequest(DefaultProfile(), request, violations);
  EXPECT_THAT(violations, IsEmpty());
  for (const LimitField& field : kLimitFields) {
    EXPECT_EQ(field.get(limits), field.wish(request)) << LimitName(field.kind);
    EXPECT_NE(field.get(limits), field.get(Limits())) << LimitName(field.kind);
  }
}

TEST(ApplyRequest, EachLimitAboveTheProfilesIsAViolation) {
  std::vector<FieldViolation> violations;
  ApplyRequest(DefaultProfile(),
               {.wall_time = absl::Seconds(31),
                .cpu_time = absl::InfiniteDuration(),
                .memory_bytes = 1024 * kMiB,
                .max_processes = 65,
                .cpu_millis = 1001,
                .tmp_bytes = 65 * kMiB,
                .workspace_bytes = ~uint64_t{0},
                .max_files = 16385,
                .output_bytes = 2 * kMiB,
                .output_total_bytes = 17 * kMiB,
                .open_files = 1025,
                .file_size_bytes = 65 * kMiB},
               violations);
  EXPECT_THAT(violations, SizeIs(kLimitFields.size()));
  EXPECT_THAT(violations, Each(Field(&FieldViolation::description,
                                     HasSubstr("above the maximum of profile "
                                               "\"default\""))));
  EXPECT_EQ(violations.at(0).field, "limits.wall_time");
  EXPECT_EQ(violations.at(0).description,
            "31 s is above the maximum of profile \"default\", 30 s");
}

TEST(ApplyRequest, OneByteTooMuchIsShownExactly) {
  std::vector<FieldViolation> violations;
  ApplyRequest(DefaultProfile(), {.memory_bytes = 256 * kMiB + 1}, violations);
  EXPECT_EQ(violations.at(0).description,
            "268435457 B is above the maximum of profile \"default\", "
            "268435456 B");
}

TEST(ApplyRequest, MayAskUpToTheMaximum) {
  Profile profile = DefaultProfile();
  profile.maximum.wall_time = absl::Seconds(300);
  std::vector<FieldViolation> violations;
  EXPECT_EQ(ApplyRequest(profile, {.wall_time = absl::Seconds(300)}, violations)
                .wall_time,
            absl::Seconds(300));
  EXPECT_THAT(violations, IsEmpty());
}

TEST(ApplyRequest, ZeroAndTinyWishesAreViolations) {
  std::vector<FieldViolation> violations;
  ApplyRequest(DefaultProfile(),
               {.wall_time = absl::ZeroDuration(), .memory_bytes = 1},
               violations);
  ASSERT_THAT(violations, SizeIs(2));
  EXPECT_EQ(violations[0].field, "limits.wall_time");
  EXPECT_EQ(violations[1].field, "limits.memory_bytes");
  EXPECT_EQ(violations[1].description,
            "1 B is too small to work; it takes at least 8 MiB");
}

TEST(ApplyRequest, LessMemoryShrinksBothDisks) {
  std::vector<FieldViolation> violations;
  const Limits limits =
      ApplyRequest(DefaultProfile(), {.memory_bytes = 64 * kMiB}, violations);
  EXPECT_THAT(violations, IsEmpty());
  EXPECT_EQ(limits.tmp_bytes, 16 * kMiB);
  EXPECT_EQ(limits.workspace_bytes, 16 * kMiB);
}

TEST(ApplyRequest, LessMemoryLeavesDisksThatStillFit) {
  Profile profile = DefaultProfile();
  profile.limits.tmp_bytes = profile.limits.workspace_bytes = 4 * kMiB;
  std::vector<FieldViolation> violations;
  const Limits limits =
      ApplyRequest(profile, {.memory_bytes = 64 * kMiB}, violations);
  EXPECT_EQ(limits.tmp_bytes, 4 * kMiB);
  EXPECT_EQ(limits.workspace_bytes, 4 * kMiB);
}

TEST(ApplyRequest, ANamedDiskKeepsItsSizeAndTheOtherGivesWay) {
  std::vector<FieldViolation> violations;
  const Limits limits = ApplyRequest(
      DefaultProfile(), {.memory_bytes = 64 * kMiB, .tmp_bytes = 24 * kMiB},
      violations);
  EXPECT_THAT(violations, IsEmpty());
  EXPECT_EQ(limits.tmp_bytes, 24 * kMiB);
  EXPECT_EQ(limits.workspace_bytes, 8 * kMiB);
}

TEST(ApplyRequest, NamedDisksOverHalfTheMemoryAreAViolation) {
  std::vector<FieldViolation> violations;
  ApplyRequest(DefaultProfile(),
               {.memory_bytes = 64 * kMiB, .workspace_bytes = 33 * kMiB},
               violations);
  ASSERT_THAT(violations, SizeIs(1));
  EXPECT_EQ(violations[0].field, "limits.workspace_bytes");
  EXPECT_THAT(violations[0].description, HasSubstr("half of memory_bytes"));
}

TEST(ApplyRequest, EveryMemorySizeGivesLimitsThatWork) {
  for (uint64_t memory = 8 * kMiB; memory <= 256 * kMiB; memory += 1000003) {
    std::vector<FieldViolation> violations;
    ApplyRequest(DefaultProfile(), {.memory_bytes = memory}, violations);
    EXPECT_THAT(violations, IsEmpty()) << memory;
  }
}

}  // namespace
}  // namespace sandglass::policy
