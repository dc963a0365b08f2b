#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sandbox/files/file_agent_client.h"
#include "tests/support/calls/agent_fixture.h"

namespace sandglass::sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class FileTrackTest : public sandglass::testing::AgentFixture {
 protected:
  FileTracker Track(const TrackOptions& options) {
    auto tracker = agent().Track("/", options, limits_);
    EXPECT_TRUE(tracker.ok()) << FileCodeName(tracker.result.code);
    return std::move(tracker.value);
  }

  // One look: "+a" created, "~a" modified, "-a" removed, "a>b" renamed; behind
  // it what is in the file, where that came.
  std::vector<std::string> Look(FileTracker& tracker) {
    std::vector<std::string> told;
    const auto looked = tracker.Next(limits_, [&](FileChanged change) {
      const char* const signs[] = {"+", "~", "-", ">"};
      std::string text =
          absl::StrCat(change.old_path, signs[static_cast<int>(change.type)],
                       change.facts.name);
      if (change.file.valid()) {
        char content[64];
        const ssize_t size =
            ::pread(change.file.get(), content, sizeof(content), 0);
        absl::StrAppend(&text, "=",
                        absl::string_view(content, static_cast<size_t>(size)));
      }
      told.push_back(text);
    });
    EXPECT_TRUE(looked.ok()) << FileCodeName(looked.result.code);
    truncated_ = looked.value;
    return told;
  }

  bool truncated_ = false;
};

TEST_F(FileTrackTest, TellsWhatChangedSinceTheLookBefore) {
  std::filesystem::create_directories(At("/d/e"));
  Put("/d/same", "same");
  Put("/d/old", "old");
  Put("/gone", "gone");
  Start();
  FileTracker tracker = Track({});
  EXPECT_THAT(Look(tracker), IsEmpty());
  Put("/d/old", "newer");
  Put("/d/e/fresh", "f");
  std::filesystem::remove(At("/gone"));
  ASSERT_EQ(::symlink("d", At("/link").c_str()), 0);
  EXPECT_THAT(Look(tracker),
              UnorderedElementsAre("~d/old", "+d/e/fresh", "-gone", "+link"));
  EXPECT_THAT(Look(tracker), IsEmpty());
  // A change that leaves size and content: the mode.
  ::chmod(At("/d/same").c_str(), 0600);
  EXPECT_THAT(Look(tracker), ElementsAre("~d/same"));
  std::filesystem::remove_all(At("/d"));
  EXPECT_EQ(Look(tracker).size(), 5u);
  EXPECT_FALSE(truncated_);
}

TEST_F(FileTrackTest, KnowsARenamedFile) {
  Put("/a", "text");
  std::filesystem::create_directories(At("/d"));
  Put("/d/b", "other");
  Start();
  FileTracker tracker = Track({});
  std::filesystem::rename(At("/a"), At("/z"));
  EXPECT_THAT(Look(tracker), ElementsAre("a>z"));
  std::filesystem::rename(At("/d"), At("/moved"));
  EXPECT_THAT(Look(tracker), UnorderedElementsAre("d>moved", "d/b>moved/b"));
  // One more name isn't another.
  std::filesystem::create_hard_link(At("/z"), At("/y"));
  EXPECT_THAT(Look(tracker), UnorderedElementsAre("+y", "~z"));
}

TEST_F(FileTrackTest, HandsOutWhatIsNew) {
  Put("/old", "old");
  Start();
  FileTracker tracker = Track({.with_files = true});
  ASSERT_EQ(::mkfifo(At("/fifo").c_str(), 0644), 0);
  for (int i = 0; i < 200; ++i) Put(absl::StrCat("/f", i), absl::StrCat(i));
  std::vector<std::string> expected = {"+fifo"};
  for (int i = 0; i < 200; ++i) {
    expected.push_back(absl::StrCat("+f", i, "=", i));
  }
  EXPECT_THAT(Look(tracker), ::testing::UnorderedElementsAreArray(expected));
}

TEST_F(FileTrackTest, SaysWhatItCouldNotLookAt) {
  for (int i = 0; i < 50; ++i) Put(absl::StrCat("/f", i), "");
  Start();
  FileTracker tracker = Track({.max_entries = 20});
  EXPECT_THAT(Look(tracker), IsEmpty());
  EXPECT_TRUE(truncated_);
}

TEST_F(FileTrackTest, WatchesByItself) {
  Start();
  FileTracker tracker = Track({.interval = absl::Milliseconds(20)});
  const FileLimits short_limits = {.timeout = absl::Milliseconds(100)};
  const auto nothing = tracker.Next(
      short_limits, [](FileChanged) { ADD_FAILURE() << "nothing changed"; });
  EXPECT_EQ(nothing.result.code, FileCode::kTimedOut);
  Put("/a", "text");
  const std::vector<std::string> told = Look(tracker);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told[0], "+a");
}

TEST_F(FileTrackTest, EndsWithItsTree) {
  std::filesystem::create_directories(At("/d"));
  Start();
  auto tracker = agent().Track("/d", {}, limits_);
  ASSERT_TRUE(tracker.ok());
  std::filesystem::remove(At("/d"));
  const auto gone = tracker.value.Next(limits_, [](FileChanged) {});
  EXPECT_EQ(gone.result.code, FileCode::kNotFound);
  EXPECT_EQ(agent().Track("/d", {}, limits_).result.code, FileCode::kNotFound);
}

}  // namespace
}  // namespace sandglass::sandbox
