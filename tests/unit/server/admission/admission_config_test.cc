// What an operator may set, what holds where nothing is set, and what follows
// from what is.
#include "server/admission/admission_config.h"

#include <algorithm>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;

absl::StatusOr<AdmissionOptions> Read(const std::string& admission) {
  auto document = policy::JsonDocument::Parse(
      absl::StrCat("{\"admission\": ", admission, "}"), "f.json");
  if (!document.ok()) return document.status();
  policy::JsonObject root = document->root();
  AdmissionOptions options = DefaultAdmission();
  ReadAdmission(root, options);
  if (absl::Status read = document->Finish(); !read.ok()) return read;
  return options;
}

AdmissionOptions MustRead(const std::string& admission) {
  const auto options = Read(admission);
  EXPECT_TRUE(options.ok()) << options.status();
  return options.value_or(AdmissionOptions());
}

TEST(AdmissionConfig, DefaultsFollowTheMachine) {
  const AdmissionOptions options = DefaultAdmission();
  const uint32_t running =
      std::clamp(2 * std::thread::hardware_concurrency(), 4u, 512u);
  EXPECT_EQ(options.max_running, running);
  EXPECT_EQ(options.reserve, running / 2);
  EXPECT_EQ(options.max_running_with_reserve(), running + running / 2);
  EXPECT_EQ(options.max_queued, 256u);
  EXPECT_EQ(options.queued_reserve, 64u);
  EXPECT_EQ(options.max_queued_per_caller, 128u);
  EXPECT_EQ(options.queue_timeout, absl::Seconds(10));
  EXPECT_GT(options.memory_reserve_bytes, 0u);
  EXPECT_NEAR(static_cast<double>(options.memory_budget_bytes),
              static_cast<double>(options.memory_reserve_bytes) * 8, 16);
}

TEST(AdmissionConfig, WhatIsNotSetFollowsFromWhatIs) {
  const AdmissionOptions many = MustRead(
      R"({"max_running": 100, "max_queued": 100, "memory_budget": "8GiB"})");
  EXPECT_EQ(many.max_running, 100u);
  EXPECT_EQ(many.reserve, 50u);
  EXPECT_EQ(many.max_queued, 100u);
  EXPECT_EQ(many.queued_reserve, 25u);
  EXPECT_EQ(many.max_queued_per_caller, 50u);
  EXPECT_EQ(many.memory_budget_bytes, 8192 * kMiB);
  EXPECT_EQ(many.memory_reserve_bytes, 1024 * kMiB);
  const AdmissionOptions few =
      MustRead(R"({"max_running": 1, "max_queued": 1})");
  EXPECT_EQ(few.reserve, 2u);
  EXPECT_EQ(few.queued_reserve, 1u);
  EXPECT_EQ(few.max_queued_per_caller, 1u);
}

TEST(AdmissionConfig, WhatIsSetHolds) {
  const AdmissionOptions options = MustRead(R"({
      "max_running": 3, "reserve": 5, "max_queued": 7,
      "max_queued_per_caller": 6, "queue_timeout": "3s",
      "memory_budget": "64MiB", "memory_reserve": "2MiB"})");
  EXPECT_EQ(AdmissionToJson(options).dump(),
            "{\"max_running\":3,\"reserve\":5,\"max_queued\":7,"
            "\"max_queued_per_caller\":6,\"queue_timeout\":\"3s\","
            "\"memory_budget\":67108864,\"memory_reserve\":2097152}");
}

TEST(AdmissionConfig, WithoutTheKeyAllStays) {
  auto document = policy::JsonDocument::Parse("{}", "f.json");
  ASSERT_TRUE(document.ok());
  policy::JsonObject root = document->root();
  AdmissionOptions options = {.max_running = 9, .reserve = 1};
  ReadAdmission(root, options);
  EXPECT_EQ(options.max_running, 9u);
  EXPECT_EQ(options.reserve, 1u);
}

TEST(AdmissionConfig, EachNumberHasItsBounds) {
  const struct {
    const char* key;
    const char* lowest;
    const char* below;  // null: none is too low
    const char* highest;
    const char* above;
  } kBounds[] = {
      {"max_running", "1", "0", "2000", "2001"},
      {"reserve", "0", nullptr, "1000", "1001"},
      {"max_queued", "1", "0", "100000", "100001"},
      {"max_queued_per_caller", "1", "0", "100000", "100001"},
      {"queue_timeout", R"("1ms")", R"("999us")", R"("1h")", R"("3601s")"},
      {"memory_budget", "33554432", "33554431", nullptr, nullptr},
      {"memory_reserve", "0", nullptr, "1125899906842624", "1125899906842625"},
  };
  for (const auto& [key, lowest, below, highest, above] : kBounds) {
    const auto with = [key = key](const char* value) {
      return Read(absl::StrCat("{\"", key, "\": ", value, "}")).status();
    };
    for (const char* value : {lowest, highest}) {
      if (value == nullptr) continue;
      EXPECT_TRUE(with(value).ok()) << key << " " << value << with(value);
    }
    for (const char* value : {below, above}) {
      if (value == nullptr) continue;
      EXPECT_THAT(std::string(with(value).message()),
                  HasSubstr(absl::StrCat("/admission/", key)))
          << value;
    }
  }
  EXPECT_FALSE(Read(R"({"max_runing": 1})").ok());
}

}  // namespace
}  // namespace sandglass::server
