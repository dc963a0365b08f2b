#include "server/session/session_record.h"

#include <filesystem>
#include <string>

#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/job/library_checks.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class SessionRecordTest : public ::testing::Test {
 protected:
  SessionRecordTest() {
    fs::copy(
        std::string(SANDGLASS_SOURCE_DIR) + "/policy/data", directory_.path(),
        fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    Write(
        {{"\"session_files\": \"memory\"", "\"session_files\": \"durable\""}});
  }
  void Write(const std::vector<std::pair<std::string, std::string>>& changes) {
    const std::string profile =
        testing::ReadFile(directory_.Path("profiles/default.json"));
    testing::WriteFile(directory_.Path("profiles/kept.json"),
                       absl::StrReplaceAll(profile, changes));
  }
  PolicySet Policy() {
    absl::StatusOr<PolicySet> policy = PolicySet::Load(directory_.path());
    EXPECT_TRUE(policy.ok()) << policy.status();
    return *std::move(policy);
  }
  SessionSpec Spec(const PolicySet& policy) {
    SessionSpec spec;
    spec.language = policy.languages().Find("python");
    spec.profile = policy.FindProfile("kept");
    spec.limits = spec.profile->limits;
    spec.limits.memory_bytes = uint64_t{200} << 20;
    spec.limits.tmp_bytes = uint64_t{16} << 20;
    spec.limits.wall_time = absl::Milliseconds(1234);
    spec.env = {{"A", "1"}, {"B", "2"}};
    spec.labels = {{"k", "v"}};
    spec.idle_timeout = absl::Seconds(50);
    spec.max_age = absl::Hours(2);
    spec.forked_from = "ses-1";
    spec.evictable = true;
    return spec;
  }
  static internal::StoredSession Record(const SessionSpec& spec,
                                        absl::Duration age, absl::Time now) {
    return ToRecord("ses-2", {"uid:5", 5, 5}, spec, now - age, age, {"", "c"},
                    now);
  }

  const testing::TempDir directory_;
  const absl::Time now_ = absl::Now();
};

TEST_F(SessionRecordTest, LibrariesComeBackAsFarAsTheyAreAllowed) {
  const PolicySet policy = Policy();
  SessionSpec spec = Spec(policy);
  Violations violations;
  const auto wanted = CheckLibraries({{"Six==1.16.0"}, ""}, spec.language,
                                     spec.profile.get(), violations);
  ASSERT_TRUE(wanted.ok() && wanted->has_value());
  spec.libraries = *wanted;
  const internal::StoredSession record = Record(spec, absl::Minutes(10), now_);
  FormerSession back = FromRecord(record, policy, {}, now_, now_);
  EXPECT_EQ(back.past.unusable, "");
  ASSERT_TRUE(back.spec.libraries.has_value());
  EXPECT_EQ(back.spec.libraries->set(), (*wanted)->set());
  EXPECT_EQ(back.spec.libraries->wish().libraries, (*wanted)->wish().libraries);

  Write({{"\"session_files\": \"memory\"", "\"session_files\": \"durable\""},
         {"\"libraries\": { \"python\": {},", "\"libraries\": {"}});
  back = FromRecord(record, Policy(), {}, now_, now_);
  EXPECT_THAT(back.past.unusable, HasSubstr("no libraries for python"));
}

TEST_F(SessionRecordTest, AllOfASessionComesBack) {
  const PolicySet policy = Policy();
  const SessionSpec spec = Spec(policy);
  const absl::Time later = now_ + absl::Seconds(30);
  const FormerSession back =
      FromRecord(Record(spec, absl::Minutes(10), now_), policy, {},
                 now_ + absl::Seconds(20), later);
  EXPECT_EQ(back.spec.language, spec.language);
  EXPECT_EQ(back.spec.profile, spec.profile);
  EXPECT_EQ(back.spec.limits, spec.limits);
  EXPECT_EQ(back.spec.env, spec.env);
  EXPECT_EQ(back.spec.labels, spec.labels);
  EXPECT_EQ(back.spec.idle_timeout, spec.idle_timeout);
  EXPECT_EQ(back.spec.max_age, spec.max_age);
  EXPECT_EQ(back.spec.forked_from, "ses-1");
  EXPECT_TRUE(back.spec.evictable);
  EXPECT_EQ(back.past.unusable, "");
  EXPECT_THAT(back.past.contexts, ElementsAre("", "c"));
  EXPECT_EQ(back.past.age, absl::Minutes(10) + absl::Seconds(30));
  EXPECT_EQ(absl::Trunc(back.past.idle, absl::Milliseconds(1)),
            absl::Seconds(10));
}

TEST_F(SessionRecordTest, AClockThatWasSetMakesNothingYoungerThanItWas) {
  const PolicySet policy = Policy();
  // Back by a year while no daemon ran.
  const FormerSession back =
      FromRecord(Record(Spec(policy), absl::Minutes(10), now_), policy, {},
                 now_, now_ - absl::Hours(24 * 365));
  EXPECT_EQ(back.past.age, absl::Minutes(10));
  EXPECT_EQ(back.past.idle, absl::ZeroDuration());
  // Set forward while one ran, which then wrote the record anew: its creation
  // by the wall clock counts for nothing.
  internal::StoredSession record =
      Record(Spec(policy), absl::Minutes(10), now_);
  record.set_create_time_ns(absl::ToUnixNanos(now_ - absl::Hours(24 * 365)));
  EXPECT_EQ(FromRecord(record, policy, {}, now_, now_).past.age,
            absl::Minutes(10));
}

TEST_F(SessionRecordTest, ThePolicyThatHoldsNowLowersIt) {
  const internal::StoredSession record =
      Record(Spec(Policy()), absl::ZeroDuration(), now_);
  Write({{"\"session_files\": \"memory\"", "\"session_files\": \"durable\""},
         {"\"memory_bytes\": \"256MiB\"", "\"memory_bytes\": \"96MiB\""},
         {"\"64MiB\"", "\"24MiB\""}});
  const PolicySet policy = Policy();
  const FormerSession back =
      FromRecord(record, policy,
                 {.idle_timeout = absl::Seconds(40), .max_age = absl::Hours(1)},
                 now_, now_);
  EXPECT_EQ(back.spec.limits.memory_bytes, uint64_t{96} << 20);
  EXPECT_EQ(back.spec.limits.workspace_bytes, uint64_t{24} << 20);
  EXPECT_EQ(back.spec.limits.tmp_bytes, uint64_t{16} << 20);
  EXPECT_EQ(back.spec.limits.wall_time, absl::Milliseconds(1234));
  EXPECT_EQ(back.spec.idle_timeout, absl::Seconds(40));
  EXPECT_EQ(back.spec.max_age, absl::Hours(1));
  EXPECT_EQ(back.past.unusable, "");
}

TEST_F(SessionRecordTest, ARecordWhosePartsAreGoneIsUnusable) {
  internal::StoredSession record =
      Record(Spec(Policy()), absl::ZeroDuration(), now_);
  Write({});
  PolicySet policy = Policy();
  EXPECT_THAT(FromRecord(record, policy, {}, now_, now_).past.unusable,
              HasSubstr("keeps no files"));
  fs::remove(directory_.Path("profiles/kept.json"));
  policy = Policy();
  const FormerSession back = FromRecord(record, policy, {}, now_, now_);
  EXPECT_THAT(back.past.unusable, HasSubstr("kept"));
  EXPECT_NE(back.spec.profile, nullptr);
  record.set_language("cobol");
  EXPECT_THAT(FromRecord(record, policy, {}, now_, now_).past.unusable,
              HasSubstr("cobol"));
}

}  // namespace
}  // namespace sandglass::server
