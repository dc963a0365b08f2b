#include "server/languages/prepared_store.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/os/files.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class PreparedStoreTest : public ::testing::Test {
 protected:
  PreparedStoreTest()
      : store_(*PreparedStore::Open(Directory(), ::getuid(), ::getgid())) {}
  std::string Directory() const { return dir_.Path("cache/prepared"); }
  static os::Fd Content(const std::string& text) {
    return *os::MakeMemfd("content", text);
  }

  const testing::TempDir dir_;
  CancelToken cancel_;
  const PreparedStore store_;
};

TEST_F(PreparedStoreTest, HasWhatWasCompleted) {
  EXPECT_FALSE(store_.Has("toy-1"));
  {
    auto draft = store_.Begin("toy-1", cancel_);
    ASSERT_TRUE(draft.ok()) << draft.status();
    EXPECT_TRUE(draft->Add("bits/a.gch", Content("precompiled")).ok());
    EXPECT_FALSE(store_.Has("toy-1"));
    EXPECT_TRUE(draft->Complete().ok());
  }
  EXPECT_TRUE(store_.Has("toy-1"));
  EXPECT_EQ(testing::ReadFile(Directory() + "/toy-1/bits/a.gch"),
            "precompiled");
  struct stat info = {};
  ASSERT_EQ(::stat((Directory() + "/toy-1/bits/a.gch").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
  EXPECT_TRUE(absl::IsAlreadyExists(store_.Begin("toy-1", cancel_).status()));
}

TEST_F(PreparedStoreTest, WhatWasLeftUnfinishedGoes) {
  {
    auto draft = store_.Begin("toy-1", cancel_);
    ASSERT_TRUE(draft.ok());
    EXPECT_TRUE(draft->Add("old", Content("x")).ok());
  }
  EXPECT_FALSE(store_.Has("toy-1"));
  auto draft = store_.Begin("toy-1", cancel_);
  ASSERT_TRUE(draft.ok()) << draft.status();
  EXPECT_EQ(testing::ReadFile(Directory() + "/toy-1/old"), "<missing>");
}

TEST_F(PreparedStoreTest, RefusesPathsThatLeaveAndNamesThatMeet) {
  auto draft = store_.Begin("toy-1", cancel_);
  ASSERT_TRUE(draft.ok());
  EXPECT_FALSE(draft->Add("../x", Content("x")).ok());
  EXPECT_FALSE(draft->Add("/x", Content("x")).ok());
  EXPECT_TRUE(draft->Add("a", Content("x")).ok());
  EXPECT_THAT(std::string(draft->Add("a", Content("y")).message()),
              HasSubstr("two commands make a"));
  EXPECT_EQ(testing::ReadFile(Directory() + "/toy-1/a"), "x");
}

TEST_F(PreparedStoreTest, AFullDiskIsSaidWithItsPlace) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to mount a small disk";
  ASSERT_EQ(
      ::mount("none", Directory().c_str(), "tmpfs", 0, "size=64k,mode=755"), 0);
  {
    auto draft = store_.Begin("toy-1", cancel_);
    ASSERT_TRUE(draft.ok()) << draft.status();
    const absl::Status added =
        draft->Add("cache/a", Content(std::string(128 << 10, 'x')));
    EXPECT_THAT(std::string(added.message()),
                HasSubstr(Directory() + "/toy-1/cache/a: No space left on "
                                        "device; make room there and restart "
                                        "the daemon, or name another place by "
                                        "--cache-dir"));
  }
  EXPECT_FALSE(store_.Has("toy-1"));
  EXPECT_EQ(::umount2(Directory().c_str(), MNT_DETACH), 0);
}

TEST_F(PreparedStoreTest, OneAtATimePreparesTheSame) {
  auto draft = store_.Begin("toy-1", cancel_);
  ASSERT_TRUE(draft.ok());
  std::thread other([this] {
    EXPECT_TRUE(absl::IsAlreadyExists(store_.Begin("toy-1", cancel_).status()));
  });
  ASSERT_TRUE(draft->Complete().ok());
  { const auto released = *std::move(draft); }
  other.join();

  auto second = store_.Begin("toy-2", cancel_);
  ASSERT_TRUE(second.ok());
  CancelToken cancelled;
  cancelled.Cancel(policy::KillReason::kShutdown);
  EXPECT_TRUE(absl::IsCancelled(store_.Begin("toy-2", cancelled).status()));
}

TEST_F(PreparedStoreTest, RemovesWhatIsOldAndUnused) {
  const auto old =
      fs::file_time_type::clock::now() - std::chrono::hours(24 * 31);
  for (const char* name : {"used-1", "old-1", "new-1"}) {
    auto draft = store_.Begin(name, cancel_);
    ASSERT_TRUE(draft.ok() && draft->Complete().ok());
    if (name != std::string("new-1")) {
      fs::last_write_time(Directory() + "/" + name + "/.complete", old);
    }
  }
  store_.RemoveOld({"used-1"});
  EXPECT_TRUE(fs::exists(Directory() + "/used-1"));
  EXPECT_TRUE(fs::exists(Directory() + "/new-1"));
  EXPECT_FALSE(fs::exists(Directory() + "/old-1"));
}

TEST_F(PreparedStoreTest, ADirectoryOfSomebodyElseIsRefused) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to give a directory away";
  const std::string theirs = dir_.Path("theirs");
  ASSERT_EQ(::mkdir(theirs.c_str(), 0755), 0);
  ASSERT_EQ(::chown(theirs.c_str(), 4242, 4242), 0);
  const auto store = PreparedStore::Open(theirs, 100, 100);
  EXPECT_THAT(std::string(store.status().message()),
              HasSubstr("belongs to uid 4242"));
  EXPECT_TRUE(PreparedStore::Open(theirs, 4242, 4242).ok());
  // Whoever owns the directory above could put another one in its place.
  EXPECT_THAT(std::string(PreparedStore::Open(theirs + "/prepared", 100, 100)
                              .status()
                              .message()),
              HasSubstr("belongs to uid 4242"));
  const std::string link = dir_.Path("link");
  fs::create_directory_symlink(theirs, link);
  EXPECT_FALSE(PreparedStore::Open(link, 4242, 4242).ok());
}

TEST(PreparedName, ChangesWithWhatItStandsFor) {
  const testing::TempDir dir;
  testing::WriteFile(dir.Path("cc"), "1");
  policy::Language language{
      .id = "toy",
      .run = {dir.Path("cc")},
      .prepare = policy::Preparation{.files = {{"a", "b"}},
                                     .commands = {{dir.Path("cc"), "-x"}},
                                     .artifacts = {"out"}}};
  const std::string name = PreparedName(language);
  EXPECT_THAT(name, MatchesRegex("toy-[0-9a-f]{16}"));
  EXPECT_EQ(PreparedName(language), name);

  policy::Language other = language;
  other.prepare->commands[0].push_back("-y");
  EXPECT_NE(PreparedName(other), name);
  other = language;
  other.prepare->files = {{"ab", ""}};
  EXPECT_NE(PreparedName(other), name);
  other = language;
  other.prepare->env = {{"A", "1"}};
  EXPECT_NE(PreparedName(other), name);
  // Another compiler under the same name.
  testing::WriteFile(dir.Path("cc"), "22");
  EXPECT_NE(PreparedName(language), name);
}

}  // namespace
}  // namespace sandglass::server
