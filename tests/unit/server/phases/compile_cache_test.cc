#include "server/phases/compile_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/digest.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::ReadFile;
using testing::WriteFile;

std::string Key(char digit) { return std::string(64, digit); }

std::shared_ptr<const Compiled> Program(const std::string& content) {
  auto compiled = std::make_shared<Compiled>();
  compiled->files.push_back({.path = "main",
                             .content = content,
                             .mode = 0755,
                             .size = content.size()});
  compiled->stderr_result = {.data = "warning", .total_bytes = 7};
  return compiled;
}

class CompileCacheTest : public ::testing::Test {
 protected:
  CompileCacheTest() { Restart(); }

  // As a daemon that starts anew with the same directory.
  void Restart(CompileCacheOptions options = {}) {
    cache_.reset();
    cache_ = Make(options);
  }
  std::unique_ptr<CompileCache> Make(CompileCacheOptions options) const {
    absl::StatusOr<CompileStore> store =
        CompileStore::Open(Directory(), ::getuid(), ::getgid());
    EXPECT_TRUE(store.ok()) << store.status();
    auto cache =
        std::make_unique<CompileCache>(*std::move(store), "image", options);
    cache->Start();
    return cache;
  }
  // Puts a result in and forgets the copy in memory.
  void KeepOnDisk(char digit, const std::string& content = "#!program") {
    cache_->Keep(Key(digit), Program(content));
    ASSERT_TRUE(cache_->Flush(absl::Seconds(10)));
    Restart();
  }
  std::string Directory() const { return dir_.Path("compiled"); }
  std::string File(char digit) const { return Directory() + "/" + Key(digit); }

  // The entry is not used, and is gone.
  void ExpectDropped(const std::string& what) {
    EXPECT_EQ(cache_->Find(Key('a')), nullptr) << what;
    EXPECT_EQ(cache_->State().dropped, 1u) << what;
    EXPECT_EQ(cache_->State().hits, 0u) << what;
    EXPECT_FALSE(fs::exists(fs::symlink_status(File('a')))) << what;
    EXPECT_EQ(cache_->Find(Key('a')), nullptr) << what;
    EXPECT_EQ(cache_->State().dropped, 1u) << what;
    // Its place can be taken again.
    KeepOnDisk('a');
    EXPECT_NE(cache_->Find(Key('a')), nullptr) << what;
  }

  const testing::TempDir dir_;
  std::unique_ptr<CompileCache> cache_;
};

TEST_F(CompileCacheTest, ReturnsWhatWasStored) {
  EXPECT_EQ(cache_->Find(Key('a')), nullptr);
  auto compiled = std::make_shared<Compiled>();
  compiled->files = {
      {.path = "main", .content = std::string("\0\xff x", 4), .mode = 0755},
      {.path = "sub/\xff.jar", .content = "", .mode = 0644}};
  compiled->stdout_result = {
      .data = "out", .truncated = true, .total_bytes = 900, .head_bytes = 2};
  compiled->stderr_result = {.data = "warning: x", .total_bytes = 10};
  cache_->Keep(Key('a'), compiled);
  for (const char* from : {"memory", "disk"}) {
    const auto found = cache_->Find(Key('a'));
    ASSERT_NE(found, nullptr) << from;
    ASSERT_EQ(found->files.size(), 2u);
    EXPECT_EQ(found->files[0].path, "main");
    EXPECT_EQ(found->files[0].content, compiled->files[0].content);
    EXPECT_EQ(found->files[0].mode, 0755u);
    EXPECT_EQ(found->files[0].error, FileError::kNone);
    EXPECT_EQ(found->files[1].path, "sub/\xff.jar");
    EXPECT_EQ(found->stdout_result.data, "out");
    EXPECT_TRUE(found->stdout_result.truncated);
    EXPECT_EQ(found->stdout_result.total_bytes, 900u);
    EXPECT_EQ(found->stdout_result.head_bytes, 2u);
    EXPECT_EQ(found->stderr_result.data, "warning: x");
    ASSERT_TRUE(cache_->Flush(absl::Seconds(10)));
    Restart();
    EXPECT_EQ(cache_->State().entries, 1u);
    EXPECT_EQ(cache_->State().memory_entries, 0u);
  }
}

// Jails are handed the very file, so none of them may change it.
TEST_F(CompileCacheTest, LargeFilesAreSealedForJails) {
  const std::string program(300'000, 'p');
  KeepOnDisk('a', program);
  const auto found = cache_->Find(Key('a'));
  ASSERT_NE(found, nullptr);
  ASSERT_EQ(found->sealed.size(), 1u);
  ASSERT_NE(found->sealed[0], nullptr);
  const int fd = found->sealed[0]->get();
  EXPECT_LT(::pwrite(fd, "x", 1, 0), 0);
  EXPECT_NE(::ftruncate(fd, 1), 0);
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
            MAP_FAILED);
  std::string content(program.size() + 1, '\0');
  EXPECT_EQ(::pread(fd, content.data(), content.size(), 0),
            static_cast<ssize_t>(program.size()));
  content.pop_back();
  EXPECT_EQ(content, program);
  // It takes memory twice.
  EXPECT_GE(cache_->State().memory_bytes, 2 * program.size());
  KeepOnDisk('b', "small");
  EXPECT_EQ(cache_->Find(Key('b'))->sealed[0], nullptr);
}

TEST_F(CompileCacheTest, FilesAreTheServersAlone) {
  KeepOnDisk('a');
  struct stat info = {};
  ASSERT_EQ(::stat(Directory().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  ASSERT_EQ(::stat(File('a').c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(cache_->State().bytes, static_cast<uint64_t>(info.st_size));
}

TEST_F(CompileCacheTest, TheDestructorWritesWaitingEntries) {
  for (char digit = '0'; digit <= '9'; ++digit) {
    cache_->Keep(Key(digit), Program("x"));
  }
  Restart();
  EXPECT_EQ(cache_->State().entries, 10u);
}

// ---- files that were tampered with ----

TEST_F(CompileCacheTest, AFlippedBitAnywhereIsNoticed) {
  KeepOnDisk('a');
  const std::string good = ReadFile(File('a'));
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    ASSERT_FALSE(DecodeCompiled(Key('a'), bad).ok()) << "byte " << at;
  }
  ASSERT_TRUE(DecodeCompiled(Key('a'), good).ok());
  // Mark, key, length, result, sum.
  for (const size_t at :
       {size_t{3}, size_t{30}, size_t{90}, good.size() / 2, good.size() - 5}) {
    KeepOnDisk('a');
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    WriteFile(File('a'), bad);
    Restart();
    ExpectDropped(absl::StrCat("byte ", at));
  }
}

TEST_F(CompileCacheTest, ATruncatedOrLengthenedFileIsNoticed) {
  KeepOnDisk('a');
  const std::string good = ReadFile(File('a'));
  for (size_t size = 0; size < good.size(); ++size) {
    ASSERT_FALSE(DecodeCompiled(Key('a'), good.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(DecodeCompiled(Key('a'), good + "x").ok());
  for (const size_t size : {size_t{0}, size_t{50}, good.size() - 1}) {
    WriteFile(File('a'), good.substr(0, size));
    Restart();
    ExpectDropped(absl::StrCat(size, " bytes"));
  }
  WriteFile(File('a'), good + "x");
  Restart();
  ExpectDropped("lengthened");
}

TEST_F(CompileCacheTest, AFileOfAnotherKeyIsNoticed) {
  KeepOnDisk('b');
  fs::rename(File('b'), File('a'));
  Restart();
  ExpectDropped("renamed");
}

// Whole, with a sum that fits; but what it says would leave the workspace.
TEST_F(CompileCacheTest, APathThatLeavesIsNoticed) {
  Compiled compiled = *Program("x");
  for (const char* path : {"../x", "/x", "a/../../x", ""}) {
    compiled.files[0].path = path;
    EXPECT_FALSE(
        DecodeCompiled(Key('a'), EncodeCompiled(Key('a'), compiled)).ok())
        << path;
  }
}

TEST_F(CompileCacheTest, NumbersThatLieAreNoticed) {
  const std::string good = EncodeCompiled(Key('a'), *Program("x"));
  // After the mark, the key and the length.
  const size_t body = good.find(Key('a')) + 64 + 8;
  for (size_t at = body; at < good.size() - 32; ++at) {
    for (const char value : {'\x01', '\x7f', '\xff'}) {
      std::string bad = good.substr(0, good.size() - 32);
      bad[at] = value;
      bad += Sha256(bad);
      // Refused, or read within its bounds: for the address sanitizer.
      const auto read = DecodeCompiled(Key('a'), bad);
      EXPECT_TRUE(!read.ok() || read->files.size() <= 1);
    }
  }
  std::string many = good.substr(0, good.size() - 32);
  many[body] = 100;
  many += Sha256(many);
  EXPECT_FALSE(DecodeCompiled(Key('a'), many).ok());
}

TEST_F(CompileCacheTest, ALinkOrADirectoryInItsPlaceIsNoticed) {
  KeepOnDisk('a');
  const std::string elsewhere = dir_.Path("elsewhere");
  fs::rename(File('a'), elsewhere);
  fs::create_symlink(elsewhere, File('a'));
  Restart();
  ExpectDropped("symbolic link");
  EXPECT_NE(ReadFile(elsewhere), "<missing>");

  fs::create_hard_link(File('a'), dir_.Path("second"));
  Restart();
  ExpectDropped("hard link");

  fs::remove(File('a'));
  fs::create_directory(File('a'));
  Restart();
  ExpectDropped("directory");

  fs::remove(File('a'));
  ASSERT_EQ(::mkfifo(File('a').c_str(), 0600), 0);
  Restart();
  ExpectDropped("FIFO");
}

TEST_F(CompileCacheTest, AFileOpenToOthersIsNoticed) {
  for (const mode_t mode : {0644u, 0660u, 0602u, 0700u}) {
    KeepOnDisk('a');
    ASSERT_EQ(::chmod(File('a').c_str(), mode), 0);
    Restart();
    ExpectDropped(absl::StrCat("mode ", mode));
  }
}

TEST_F(CompileCacheTest, AFileOfSomebodyElseIsNoticed) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to give a file away";
  KeepOnDisk('a');
  ASSERT_EQ(::chown(File('a').c_str(), 4242, 4242), 0);
  Restart();
  ExpectDropped("owner");
}

TEST_F(CompileCacheTest, ATooLargeFileIsNotRead) {
  KeepOnDisk('a');
  fs::resize_file(File('a'), CompileCache::kMaxEntryBytes + 1);
  cache_->State();
  EXPECT_EQ(cache_->Find(Key('a')), nullptr);
  EXPECT_EQ(cache_->State().dropped, 1u);
}

TEST_F(CompileCacheTest, WhatIsFullStaysWhereItIsAndIsNotUsed) {
  fs::create_directories(File('a') + "/below");
  EXPECT_EQ(cache_->Find(Key('a')), nullptr);
  cache_->Keep(Key('a'), Program("x"));
  ASSERT_TRUE(cache_->Flush(absl::Seconds(10)));
  EXPECT_EQ(cache_->State().write_failures, 1u);
  // Memory has it.
  EXPECT_NE(cache_->Find(Key('a')), nullptr);
}

TEST_F(CompileCacheTest, OtherFilesAreLeftAlone) {
  WriteFile(Directory() + "/notes.txt", "mine");
  WriteFile(Directory() + "/.unfinished-new", "being written");
  WriteFile(Directory() + "/.unfinished-old", "left by a crash");
  fs::last_write_time(Directory() + "/.unfinished-old",
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  Restart();
  EXPECT_EQ(cache_->State().entries, 0u);
  EXPECT_EQ(ReadFile(Directory() + "/notes.txt"), "mine");
  EXPECT_EQ(ReadFile(Directory() + "/.unfinished-new"), "being written");
  EXPECT_EQ(ReadFile(Directory() + "/.unfinished-old"), "<missing>");
}

TEST_F(CompileCacheTest, ADirectoryOfSomebodyElseIsRefused) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to give a directory away";
  const std::string theirs = dir_.Path("theirs");
  ASSERT_EQ(::mkdir(theirs.c_str(), 0755), 0);
  ASSERT_EQ(::chown(theirs.c_str(), 4242, 4242), 0);
  for (const std::string& path : {theirs, theirs + "/compiled"}) {
    EXPECT_THAT(
        std::string(CompileStore::Open(path, 100, 100).status().message()),
        HasSubstr("belongs to uid 4242"));
  }
  fs::create_directory_symlink(Directory(), dir_.Path("link"));
  EXPECT_FALSE(CompileStore::Open(dir_.Path("link"), 0, 0).ok());
}

// ---- bounds ----

TEST_F(CompileCacheTest, TheLongestUnusedGoesFirst) {
  const std::string program(1000, 'x');
  const uint64_t one = EncodeCompiled(Key('a'), *Program(program)).size();
  const CompileCacheOptions three = {.max_bytes = 3 * one + one / 2};
  Restart(three);
  for (const char digit : {'a', 'b', 'c'}) {
    cache_->Keep(Key(digit), Program(program));
    ASSERT_TRUE(cache_->Flush(absl::Seconds(10)));
  }
  EXPECT_EQ(cache_->State().bytes, 3 * one);
  // Files' times go by the kernel's ticks.
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_NE(cache_->Find(Key('a')), nullptr);
  cache_->Keep(Key('d'), Program(program));
  ASSERT_TRUE(cache_->Flush(absl::Seconds(10)));
  EXPECT_EQ(cache_->State().evicted, 1u);
  EXPECT_EQ(cache_->State().entries, 3u);
  EXPECT_FALSE(fs::exists(File('b')));
  EXPECT_EQ(cache_->Find(Key('b')), nullptr);
  // The order of use is known after a restart: d, then c, then a.
  EXPECT_NE(cache_->Find(Key('d')), nullptr);
  Restart(three);
  const auto times = [this](char digit) {
    return fs::last_write_time(File(digit));
  };
  EXPECT_LT(times('c'), times('a'));
  Restart({.max_bytes = 2 * one});
  EXPECT_FALSE(fs::exists(File('c')));
  EXPECT_TRUE(fs::exists(File('a')));
  EXPECT_TRUE(fs::exists(File('d')));
}

TEST_F(CompileCacheTest, MemoryIsBoundedToo) {
  Restart({.max_memory_bytes = 100'000});
  for (const char digit : {'a', 'b', 'c', 'd', 'e', 'f', '1', '2'}) {
    cache_->Keep(Key(digit), Program(std::string(20'000, digit)));
  }
  ASSERT_TRUE(cache_->Flush(absl::Seconds(10)));
  CompileCacheState state = cache_->State();
  EXPECT_EQ(state.entries, 8u);
  EXPECT_LE(state.memory_bytes, 100'000u);
  EXPECT_GE(state.memory_entries, 3u);
  // What is not in memory comes from the disk; what is large never is in it.
  EXPECT_EQ(cache_->Find(Key('a'))->files[0].content, std::string(20'000, 'a'));
  cache_->Keep(Key('3'), Program(std::string(50'000, '3')));
  ASSERT_TRUE(cache_->Flush(absl::Seconds(10)));
  EXPECT_LE(cache_->State().memory_bytes, 100'000u);
  EXPECT_NE(cache_->Find(Key('3')), nullptr);
  EXPECT_LE(cache_->State().memory_bytes, 100'000u);
}

TEST_F(CompileCacheTest, WhatIsTooLargeIsNotKept) {
  Restart({.max_bytes = 10'000});
  cache_->Keep(Key('a'), Program(std::string(10'001, 'x')));
  ASSERT_TRUE(cache_->Flush(absl::Seconds(10)));
  EXPECT_EQ(cache_->Find(Key('a')), nullptr);
  EXPECT_EQ(cache_->State().entries, 0u);
}

// Each daemon counts what the other wrote, by and by.
TEST_F(CompileCacheTest, TwoDaemonsShareADirectory) {
  const CompileCacheOptions quick = {.upkeep_interval = absl::Milliseconds(20)};
  Restart(quick);
  const std::unique_ptr<CompileCache> other = Make(quick);
  cache_->Keep(Key('a'), Program("from one"));
  ASSERT_TRUE(cache_->Flush(absl::Seconds(10)));
  const auto found = other->Find(Key('a'));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->files[0].content, "from one");
  other->Keep(Key('b'), Program("from the other"));
  ASSERT_TRUE(other->Flush(absl::Seconds(10)));
  for (int i = 0; i < 500 && cache_->State().entries < 2; ++i) {
    cache_->Find(Key('a'));
    absl::SleepFor(absl::Milliseconds(20));
  }
  EXPECT_EQ(cache_->State().entries, 2u);
}

// ---- when writing fails ----

TEST_F(CompileCacheTest, AFullDiskFailsNothing) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to mount a small disk";
  cache_.reset();
  if (::mount("small", Directory().c_str(), "tmpfs", MS_NOSUID | MS_NODEV,
              "size=64k,mode=0700") != 0) {
    GTEST_SKIP() << "no mounts here";
  }
  cache_ = Make({});
  cache_->Keep(Key('a'), Program("small"));
  cache_->Keep(Key('b'), Program(std::string(200'000, 'x')));
  cache_->Keep(Key('c'), Program("small"));
  EXPECT_TRUE(cache_->Flush(absl::Seconds(10)));
  const CompileCacheState state = cache_->State();
  EXPECT_EQ(state.write_failures, 1u);
  EXPECT_EQ(state.entries, 2u);
  // No unfinished file holds the room.
  EXPECT_EQ(std::distance(fs::directory_iterator(Directory()), {}), 2);
  cache_.reset();
  EXPECT_EQ(::umount2(Directory().c_str(), MNT_DETACH), 0);
}

TEST_F(CompileCacheTest, ADirectoryThatIsGoneFailsNothing) {
  fs::remove_all(Directory());
  cache_->Keep(Key('a'), Program("x"));
  EXPECT_TRUE(cache_->Flush(absl::Seconds(10)));
  EXPECT_EQ(cache_->State().write_failures, 1u);
  EXPECT_EQ(cache_->Find(Key('b')), nullptr);
}

// For the thread sanitizer.
TEST_F(CompileCacheTest, ManyUseItAtOnce) {
  const std::string program(2000, 'p');
  Restart({.max_bytes = 40'000,
           .max_memory_bytes = 20'000,
           .upkeep_interval = absl::Milliseconds(1)});
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t, &program] {
      for (int i = 0; i < 300; ++i) {
        const char digit = "0123456789abcdef"[(i * 7 + t) % 16];
        const auto found = cache_->Find(Key(digit));
        if (found == nullptr) {
          cache_->Keep(Key(digit), Program(program + digit));
        } else {
          EXPECT_EQ(found->files[0].content, program + digit);
        }
        (void)cache_->State();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(cache_->Flush(absl::Seconds(10)));
  EXPECT_LE(cache_->State().bytes, 40'000u);
  EXPECT_EQ(cache_->State().dropped, 0u);
  EXPECT_EQ(cache_->State().hits + cache_->State().misses, 1200u);
}

TEST(LruIndex, KeepsOrderAndTotalSize) {
  LruIndex index;
  EXPECT_TRUE(index.empty());
  EXPECT_FALSE(index.Use("a"));
  index.Put("a", 1);
  index.Put("b", 10);
  index.Put("c", 100);
  EXPECT_EQ(index.oldest(), "a");
  EXPECT_TRUE(index.Use("a"));
  EXPECT_EQ(index.oldest(), "b");
  index.Put("b", 20);
  EXPECT_EQ(index.bytes(), 121u);
  EXPECT_EQ(index.oldest(), "c");
  index.Erase("c");
  index.Erase("none");
  EXPECT_EQ(index.bytes(), 21u);
  EXPECT_EQ(index.size(), 2u);
  EXPECT_EQ(index.oldest(), "a");
  LruIndex moved = std::move(index);
  EXPECT_TRUE(moved.Use("a"));
  EXPECT_EQ(moved.oldest(), "b");
}

}  // namespace
}  // namespace sandglass::server
