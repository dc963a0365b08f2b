#include "server/session/session_store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/files/file_types.h"
#include "sandbox/os/files.h"
#include "server/session/session_record.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

using internal::StoredEntry;
using sandbox::FileType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing::ReadFile;
using ::testing::SizeIs;
using testing::TempDir;
namespace fs = std::filesystem;

constexpr uint64_t kPlenty = uint64_t{1} << 30;
constexpr char kId[] = "ses-00000000000000aa";

internal::StoredSession Record(const std::string& id = kId) {
  internal::StoredSession record;
  record.set_session_id(id);
  record.set_caller("uid:7");
  (*record.mutable_labels())["a"] = "b";
  return record;
}

StoredEntry Entry(const std::string& path, FileType type = FileType::kRegular) {
  StoredEntry entry;
  entry.set_path(path);
  entry.set_type(static_cast<uint32_t>(type));
  entry.set_mode(0640);
  entry.set_mtime_ns(1'234'567'890'123'456'789);
  return entry;
}

os::Fd FileWith(const std::string& content) {
  absl::StatusOr<os::Fd> file = os::MakeMemfd("content", content);
  EXPECT_TRUE(file.ok());
  return *std::move(file);
}

class SessionStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<SessionStore> Open(uint64_t max = kPlenty) {
    absl::StatusOr<std::unique_ptr<SessionStore>> store =
        SessionStore::Open(Directory(), ::geteuid(), ::getegid(), max);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }
  std::string Directory() const { return root_.Path("sessions"); }
  std::string At(const std::string& name) const {
    return absl::StrCat(Directory(), "/", kId, "/", name);
  }

  static std::shared_ptr<SessionCopy> Make(SessionStore& store,
                                           const std::string& id = kId,
                                           SessionCopy* parent = nullptr) {
    absl::StatusOr<std::shared_ptr<SessionCopy>> copy =
        store.Create(Record(id), parent);
    EXPECT_TRUE(copy.ok()) << copy.status();
    return copy.ok() ? *copy : nullptr;
  }
  static absl::Status Save(SessionCopy& copy, const std::string& path,
                           const std::string& content) {
    CopyChange change(copy);
    if (absl::Status put =
            change.PutFile(Entry(path), FileWith(content), 0, "");
        !put.ok()) {
      return put;
    }
    return change.Commit();
  }
  // Contents by path; an error's text instead of one that can't be read.
  static std::map<std::string, std::string> Contents(SessionCopy& copy) {
    std::map<std::string, std::string> contents;
    const absl::StatusOr<SessionCopy::Files> files = copy.Load();
    EXPECT_TRUE(files.ok()) << files.status();
    if (!files.ok()) return contents;
    for (const auto& [path, entry] : *files) {
      std::string content;
      const absl::Status read =
          copy.Read(entry, [&content](absl::string_view piece) {
            content.append(piece.data(), piece.size());
            return absl::OkStatus();
          });
      contents[path] = read.ok() ? content : read.ToString();
    }
    return contents;
  }
  static std::shared_ptr<SessionCopy> Only(SessionStore& store) {
    std::vector<SessionStore::Found> found = store.LoadSessions();
    EXPECT_THAT(found, SizeIs(1));
    return found.empty() ? nullptr : found[0].copy;
  }

  const TempDir root_;
};

TEST_F(SessionStoreTest, WhatWasSavedIsThereForTheNext) {
  {
    auto store = Open();
    auto copy = Make(*store);
    CopyChange change(*copy);
    StoredEntry link = Entry("link", FileType::kSymlink);
    link.set_link_target("../etc\npasswd");
    ASSERT_TRUE(change.Put(Entry("d", FileType::kDirectory)).ok());
    ASSERT_TRUE(change.Put(link).ok());
    ASSERT_TRUE(
        change.PutFile(Entry("d/\xff\n"), FileWith("content"), 0, "").ok());
    ASSERT_TRUE(change.PutFile(Entry("empty"), FileWith(""), 0, "").ok());
    ASSERT_TRUE(change.Commit().ok());
  }
  auto store = Open();
  const std::vector<SessionStore::Found> found = store->LoadSessions();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].record.SerializeAsString(), Record().SerializeAsString());
  const auto files = found[0].copy->Load();
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(files->at("link").link_target(), "../etc\npasswd");
  EXPECT_EQ(files->at("d").type(), static_cast<uint32_t>(FileType::kDirectory));
  EXPECT_EQ(files->at("d/\xff\n").mode(), 0640u);
  EXPECT_EQ(files->at("d/\xff\n").mtime_ns(), 1'234'567'890'123'456'789);
  const auto contents = Contents(*found[0].copy);
  EXPECT_EQ(contents.at("d/\xff\n"), "content");
  EXPECT_EQ(contents.at("empty"), "");
}

TEST_F(SessionStoreTest, AChangeIsWholeOrNotAtAll) {
  auto store = Open();
  auto copy = Make(*store);
  ASSERT_TRUE(Save(*copy, "a", "one").ok());
  const uint64_t before = copy->bytes();
  {
    CopyChange change(*copy);
    ASSERT_TRUE(change.PutFile(Entry("a"), FileWith("two!"), 0, "").ok());
    ASSERT_TRUE(change.PutFile(Entry("b"), FileWith("b"), 0, "").ok());
    change.Remove("a");
  }
  EXPECT_EQ(Contents(*copy),
            (std::map<std::string, std::string>{{"a", "one"}}));
  EXPECT_EQ(copy->bytes(), before);
  // Nor is anything left of it on the disk.
  EXPECT_EQ(std::distance(fs::directory_iterator(At("")), {}), 3);
}

TEST_F(SessionStoreTest, OldContentsGoAndUnchangedOnesStay) {
  auto store = Open();
  auto copy = Make(*store);
  ASSERT_TRUE(Save(*copy, "a", std::string(1 << 20, 'x')).ok());
  ASSERT_TRUE(fs::exists(At("1")));
  const uint64_t log = fs::file_size(At("files"));
  ASSERT_TRUE(Save(*copy, "a", std::string(1 << 20, 'x')).ok());
  EXPECT_EQ(fs::file_size(At("files")), log);
  ASSERT_TRUE(Save(*copy, "a", std::string(1 << 20, 'y')).ok());
  EXPECT_FALSE(fs::exists(At("1")));
  EXPECT_LT(copy->bytes(), (1 << 20) + 1000u);
  EXPECT_EQ(store->disk().used(), copy->bytes());
}

TEST_F(SessionStoreTest, ARenamedFileIsNotWrittenAgain) {
  auto store = Open();
  auto copy = Make(*store);
  ASSERT_TRUE(Save(*copy, "a", "content").ok());
  CopyChange change(*copy);
  change.Remove("a");
  ASSERT_TRUE(change.PutFile(Entry("b"), FileWith("content"), 0, "a").ok());
  ASSERT_TRUE(change.Commit().ok());
  EXPECT_TRUE(fs::exists(At("1")));
  EXPECT_EQ(Contents(*copy),
            (std::map<std::string, std::string>{{"b", "content"}}));
}

TEST_F(SessionStoreTest, NamesOfOneFileStayNamesOfOneFile) {
  auto store = Open();
  auto copy = Make(*store);
  const auto save = [&](const std::string& content, uint64_t inode) {
    CopyChange change(*copy);
    for (const char* name : {"a", "b"}) {
      ASSERT_TRUE(
          change.PutFile(Entry(name), FileWith(content), inode, "").ok());
    }
    ASSERT_TRUE(change.Commit().ok());
  };
  save("", 5);
  EXPECT_EQ(copy->Load()->at("a").blob(), copy->Load()->at("b").blob());
  EXPECT_NE(copy->Load()->at("a").blob(), 0u) << "names of one empty file";
  save("one", 5);
  EXPECT_EQ(copy->Load()->at("a").blob(), copy->Load()->at("b").blob());
  // Two files with the same content from here on.
  save("one", 0);
  EXPECT_NE(copy->Load()->at("a").blob(), copy->Load()->at("b").blob());
  EXPECT_EQ(Contents(*copy),
            (std::map<std::string, std::string>{{"a", "one"}, {"b", "one"}}));
}

TEST_F(SessionStoreTest, HolesTakeNoRoom) {
  auto store = Open();
  auto copy = Make(*store);
  const os::Fd file = FileWith("begin");
  ASSERT_EQ(::ftruncate(file.get(), 3 << 20), 0);
  ASSERT_EQ(::pwrite(file.get(), "middle", 6, 1'500'000), 6);
  CopyChange change(*copy);
  ASSERT_TRUE(change.PutFile(Entry("a"), file, 0, "").ok());
  ASSERT_TRUE(change.Commit().ok());
  EXPECT_LT(copy->bytes(), 20'000u);
  std::string expected(3 << 20, '\0');
  expected.replace(0, 5, "begin");
  expected.replace(1'500'000, 6, "middle");
  EXPECT_EQ(Contents(*copy).at("a"), expected);
}

TEST_F(SessionStoreTest, AChangeWritesNoMoreThanItMay) {
  auto store = Open();
  auto copy = Make(*store);
  ASSERT_TRUE(Save(*copy, "a", "before").ok());
  {
    CopyChange change(*copy, 100);
    const std::string content(60, 'x');
    ASSERT_TRUE(change.PutFile(Entry("a"), FileWith(content), 0, "").ok());
    const absl::Status over =
        change.PutFile(Entry("b"), FileWith(content), 0, "");
    EXPECT_TRUE(absl::IsFailedPrecondition(over)) << over;
  }
  EXPECT_THAT(Contents(*copy), ElementsAre(Pair("a", "before")));
}

TEST_F(SessionStoreTest, TheBoundHoldsForAllTogether) {
  auto store = Open(300'000);
  auto one = Make(*store);
  auto two = Make(*store, "ses-00000000000000bb");
  ASSERT_TRUE(Save(*one, "a", std::string(200'000, 'x')).ok());
  const absl::Status full = Save(*two, "a", std::string(200'000, 'x'));
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_THAT(std::string(full.message()), HasSubstr("durable_bytes"));
  EXPECT_THAT(Contents(*two), IsEmpty());
  EXPECT_LT(store->disk().used(), 201'000u);
  // Room that comes free can be had.
  ASSERT_TRUE(Save(*one, "a", "small").ok());
  EXPECT_TRUE(Save(*two, "a", std::string(200'000, 'x')).ok());
}

TEST_F(SessionStoreTest, AFullDiskChangesNothing) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to mount a small disk";
  fs::create_directory(Directory());
  if (::mount("small", Directory().c_str(), "tmpfs", MS_NOSUID | MS_NODEV,
              "size=256k,mode=0700") != 0) {
    GTEST_SKIP() << "no mounts here";
  }
  {
    auto store = Open();
    auto copy = Make(*store);
    ASSERT_TRUE(Save(*copy, "a", std::string(100'000, 'x')).ok());
    const absl::Status full = Save(*copy, "a", std::string(200'000, 'y'));
    EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
    EXPECT_EQ(Contents(*copy).at("a"), std::string(100'000, 'x'));
    EXPECT_TRUE(Save(*copy, "b", "small").ok());
    // Until not even the list of files can grow.
    absl::Status last;
    for (int i = 0; i < 10'000 && last.ok(); ++i) {
      last = Save(*copy, absl::StrCat(std::string(200, 'n'), i), "");
    }
    EXPECT_TRUE(absl::IsResourceExhausted(last)) << last;
    const size_t saved = copy->Load()->size();
    copy.reset();
    store.reset();
    store = Open();
    copy = Only(*store);
    ASSERT_NE(copy, nullptr);
    EXPECT_EQ(copy->Load()->size(), saved);
    EXPECT_EQ(Contents(*copy).at("b"), "small");
  }
  EXPECT_EQ(::umount2(Directory().c_str(), MNT_DETACH), 0);
}

TEST_F(SessionStoreTest, DamagedFilesAreReported) {
  {
    auto store = Open();
    auto copy = Make(*store);
    ASSERT_TRUE(Save(*copy, "a", "content").ok());
    ASSERT_TRUE(Save(*copy, "b", "more").ok());
  }
  const std::string log = ReadFile(At("files"));
  const auto open_with = [&](const std::string& changed) {
    testing::WriteFile(At("files"), changed);
    auto store = Open();
    auto copy = Only(*store);
    return copy->Load();
  };
  // Cut anywhere: what was whole stays, and the rest never was.
  const size_t first =
      DurableLog::kFrameBytes + *reinterpret_cast<const uint32_t*>(log.data());
  for (size_t size = 0; size < log.size(); ++size) {
    const auto files = open_with(log.substr(0, size));
    ASSERT_TRUE(files.ok()) << size << ": " << files.status();
    EXPECT_EQ(files->size(), size < first ? 0u : 1u) << size;
    if (size >= first) continue;
    // Its contents went with what nobody names.
    testing::WriteFile(At("1"), "content");
  }
  for (size_t at = 0; at < log.size(); ++at) {
    std::string changed = log;
    changed[at] = static_cast<char>(changed[at] ^ 0x20);
    const auto files = open_with(changed);
    EXPECT_TRUE(absl::IsDataLoss(files.status())) << at;
  }
  testing::WriteFile(At("files"), log);
  testing::WriteFile(At("1"), "CONTENT");
  fs::remove(At("2"));
  auto store = Open();
  auto copy = Only(*store);
  EXPECT_THAT(Contents(*copy).at("a"), HasSubstr("isn't as it was written"));
  EXPECT_THAT(Contents(*copy).at("b"), HasSubstr("isn't as it was written"));
}

TEST_F(SessionStoreTest, ADamagedRecordIsPutAsideAndTheOthersComeBack) {
  {
    auto store = Open();
    Make(*store);
    Make(*store, "ses-00000000000000bb");
  }
  testing::WriteFile(At("record"), "no record");
  auto store = Open();
  const auto found = store->LoadSessions();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].record.session_id(), "ses-00000000000000bb");
  EXPECT_TRUE(fs::exists(Directory() + "/damaged-" + kId));
}

TEST_F(SessionStoreTest, WhatADeadDaemonLeftHalfDoneIsRemoved) {
  {
    auto store = Open();
    auto copy = Make(*store);
    ASSERT_TRUE(Save(*copy, "a", "content").ok());
  }
  testing::WriteFile(At("77"), "a content that nobody names");
  fs::create_directory(Directory() + "/new-ses-1");
  testing::WriteFile(Directory() + "/new-ses-1/record", "x");
  fs::create_directory(Directory() + "/gone-ses-2");
  testing::WriteFile(Directory() + "/gone-ses-2/5", "x");
  auto store = Open();
  auto copy = Only(*store);
  EXPECT_EQ(Contents(*copy).at("a"), "content");
  EXPECT_FALSE(fs::exists(At("77")));
  EXPECT_FALSE(fs::exists(Directory() + "/new-ses-1"));
  EXPECT_FALSE(fs::exists(Directory() + "/gone-ses-2"));
  EXPECT_EQ(store->disk().used(), copy->bytes());
}

TEST_F(SessionStoreTest, EndsAreRememberedAsLongAsTheyAreWanted) {
  const auto end = [](const std::string& id, int64_t seconds) {
    internal::StoredEnd noted;
    noted.set_session_id(id);
    noted.set_reason("SESSION_DELETED");
    noted.set_time_ns(seconds * 1'000'000'000);
    return noted;
  };
  {
    auto store = Open();
    Make(*store);
    store->RememberEnd(end("ses-old", 100));
    store->RememberEnd(end(kId, 200));
    // Its directory is still there: killed in between.
  }
  auto store = Open();
  const auto ends = store->LoadEnds(absl::FromUnixSeconds(150));
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].session_id(), kId);
  EXPECT_THAT(store->LoadSessions(), IsEmpty());
  EXPECT_FALSE(fs::exists(At("")));
}

TEST_F(SessionStoreTest, ASecondStoreOfADirectoryIsRefused) {
  auto store = Open();
  const auto other =
      SessionStore::Open(Directory(), ::geteuid(), ::getegid(), kPlenty);
  EXPECT_TRUE(absl::IsUnavailable(other.status())) << other.status();
}

TEST_F(SessionStoreTest, AChildHasTheFilesAndGoesItsOwnWay) {
  auto store = Open();
  auto parent = Make(*store);
  ASSERT_TRUE(Save(*parent, "a", "content").ok());
  auto child = Make(*store, "ses-00000000000000bb", parent.get());
  ASSERT_NE(child, nullptr);
  ASSERT_TRUE(Save(*parent, "a", "changed").ok());
  ASSERT_TRUE(Save(*child, "b", "own").ok());
  EXPECT_EQ(Contents(*parent),
            (std::map<std::string, std::string>{{"a", "changed"}}));
  EXPECT_EQ(Contents(*child), (std::map<std::string, std::string>{
                                  {"a", "content"}, {"b", "own"}}));
  child.reset();
  parent.reset();
  store.reset();
  store = Open();
  for (const SessionStore::Found& found : store->LoadSessions()) {
    EXPECT_EQ(Contents(*found.copy).count("b"),
              found.record.session_id() == kId ? 0u : 1u);
  }
}

TEST_F(SessionStoreTest, ALongLifeKeepsTheListSmall) {
  auto store = Open();
  auto copy = Make(*store);
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(Save(*copy, "a", absl::StrCat("content ", i)).ok());
  }
  EXPECT_LT(fs::file_size(At("files")), 100'000u);
  EXPECT_EQ(Contents(*copy).at("a"), "content 1999");
}

// Writes until it is killed, and says what is saved on a pipe.
[[noreturn]] void WriteUntilKilled(const std::string& directory, int said) {
  auto store = SessionStore::Open(directory, ::geteuid(), ::getegid(), kPlenty);
  if (!store.ok()) ::_exit(1);
  auto found = (*store)->LoadSessions();
  if (found.size() != 1) ::_exit(2);
  SessionCopy& copy = *found[0].copy;
  const auto files = copy.Load();
  if (!files.ok()) ::_exit(3);
  // Numbered on from those there are; "all" is none of them.
  uint32_t next = files->empty() ? 0 : static_cast<uint32_t>(files->size() - 1);
  while (true) {
    CopyChange change(copy);
    // One new file, and one that changes each time.
    const std::string content(1 + next * 37 % 9000,
                              static_cast<char>('a' + next % 26));
    const auto file = os::MakeMemfd("content", content);
    if (!change.PutFile(Entry(absl::StrCat("f", next)), *file, 0, "").ok() ||
        !change.PutFile(Entry("all"), *file, 0, "").ok() ||
        !change.Commit().ok()) {
      ::_exit(4);
    }
    if (::write(said, &next, sizeof(next)) != sizeof(next)) ::_exit(5);
    ++next;
  }
}

TEST_F(SessionStoreTest, NothingThatWasSavedIsLostWhenItsWriterIsKilled) {
  { Make(*Open()); }
  uint32_t saved = 0;
  for (int round = 0; round < 30; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const os::Fd hears(ends[0]);
    os::Fd says(ends[1]);
    const pid_t writer = ::fork();
    if (writer == 0) WriteUntilKilled(Directory(), says.get());
    says.reset();
    ::usleep(static_cast<useconds_t>(3000 + round * 731));
    ::kill(writer, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(writer, &status, 0), writer);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    uint32_t number = 0;
    while (::read(hears.get(), &number, sizeof(number)) == sizeof(number)) {
      saved = number + 1;
    }
    auto store = Open();
    auto copy = Only(*store);
    ASSERT_NE(copy, nullptr);
    const auto contents = Contents(*copy);
    ASSERT_GE(contents.size(), saved == 0 ? 0 : saved + 1);
    for (const auto& [path, content] : contents) {
      const uint32_t n =
          path == "all" ? static_cast<uint32_t>(contents.size() - 2)
                        : static_cast<uint32_t>(std::stoul(path.substr(1)));
      EXPECT_EQ(content,
                std::string(1 + n * 37 % 9000, static_cast<char>('a' + n % 26)))
          << path;
    }
    saved = contents.empty() ? 0 : static_cast<uint32_t>(contents.size() - 1);
    if (HasFailure()) return;
  }
  EXPECT_GT(saved, 0u);
}

}  // namespace
}  // namespace sandglass::server
