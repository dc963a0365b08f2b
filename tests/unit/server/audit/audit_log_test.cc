#include "server/audit/audit_log.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "policy/audit/audit_verify.h"
#include "tests/unit/server/audit/audit_log_fixture.h"

namespace sandglass::server {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Json = nlohmann::ordered_json;
using policy::AuditFileName;
using testing::ReadFile;
using testing::WriteFile;

TEST_F(AuditLogTest, WritesLinesThatFollowEachOther) {
  const auto log = Open();
  EXPECT_TRUE(log->Ready().ok());
  EXPECT_EQ(log->Head(), policy::AuditHead());
  ASSERT_TRUE(log->Append("start", {{"version", "1"}}).ok());
  ASSERT_TRUE(log->Append("run", {{"code", "\xff\n\x1b"}}).ok());
  EXPECT_THAT(Files(), ElementsAre("audit-0000000001.jsonl"));
  const auto entries = Entries();
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(entries[0]["event"], "start");
  EXPECT_EQ(entries[1]["seq"], 2);
  EXPECT_EQ(entries[1]["code"], "\xef\xbf\xbd\n\x1b");
  const policy::AuditReport report = Verify();
  EXPECT_THAT(Found(report), IsEmpty());
  EXPECT_EQ(report.head, log->Head());
  struct stat info = {};
  ASSERT_EQ(::stat(At(1).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777 & ~0640u, 0u);
}

TEST_F(AuditLogTest, GoesOnWhereItEnded) {
  Fill(3);
  const policy::AuditHead before = Verify().head;
  const auto log = Open();
  EXPECT_EQ(log->Head(), before);
  ASSERT_TRUE(log->Append("run", {}).ok());
  EXPECT_THAT(Found(Verify()), IsEmpty());
  EXPECT_EQ(Verify().lines, 4u);
  EXPECT_THAT(Files(), SizeIs(1));
}

TEST_F(AuditLogTest, BeginsAnotherFileAndKeepsTheNewest) {
  const AuditLogOptions options = {.fsync = AuditFsync::kAlways,
                                   .max_file_bytes = 600};
  {
    const auto log = Open(options);
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(log->Append("run", {{"n", i}}).ok());
    }
    // Longer than a file: it gets one of its own.
    ASSERT_TRUE(log->Append("run", {{"text", std::string(2000, 'x')}}).ok());
  }
  EXPECT_GT(Files().size(), 5u);
  EXPECT_EQ(Verify().lines, 21u);
  EXPECT_THAT(Found(Verify()), IsEmpty());
  AuditLogOptions few = options;
  few.max_files = 2;
  const auto log = Open(few);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(log->Append("run", {}).ok());
  EXPECT_THAT(Files(), SizeIs(2));
  const policy::AuditReport report = Verify();
  EXPECT_EQ(report.tampering, 0u);
  EXPECT_THAT(Found(report), ElementsAre(HasSubstr("the log begins with")));
  EXPECT_EQ(report.head.seq, 31u);
}

TEST_F(AuditLogTest, NamesWhatACrashLeftOfALine) {
  for (const std::string& torn :
       {std::string("{\"seq\":4,\"time\":\"20"), std::string("{"),
        // The crash after came while that was being named.
        std::string("{\"seq\":4\n{\"seq\":4,\"time\":"),
        std::string("{\"seq\":4\n")}) {
    TempDir dir;
    path_ = dir.path();
    Fill(3);
    WriteFile(At(1), ReadFile(At(1)) + torn);
    {
      const auto log = Open();
      EXPECT_EQ(log->Head().seq, 4u) << torn;
      EXPECT_TRUE(log->Append("run", {}).ok());
    }
    const policy::AuditReport report = Verify();
    EXPECT_EQ(report.tampering, 0u) << torn;
    EXPECT_THAT(Found(report),
                ElementsAre(HasSubstr("what a crash left of a line")));
    EXPECT_THAT(ReadFile(At(1)), HasSubstr(torn));
    EXPECT_EQ(report.head.seq, 5u);
    Open();
    EXPECT_EQ(Verify().head.seq, 5u);
  }
}

TEST_F(AuditLogTest, ALineThatLacksOnlyItsNewlineCounts) {
  Fill(3);
  std::string text = ReadFile(At(1));
  text.pop_back();
  WriteFile(At(1), text);
  const auto log = Open();
  ASSERT_TRUE(log->Append("run", {}).ok());
  EXPECT_EQ(Verify().tampering, 0u);
  EXPECT_EQ(Verify().lines, 5u);
  EXPECT_EQ(Entries()[3]["event"], "recovered");
  EXPECT_EQ(Entries()[3]["torn_bytes"], 0);
}

TEST_F(AuditLogTest, ACrashAtTheBeginningOfAFileIsNoHarm) {
  for (const std::string& begun : {std::string(), std::string("{\"seq\":4,")}) {
    TempDir dir;
    path_ = dir.path();
    Fill(3);
    WriteFile(At(4), begun);
    {
      const auto log = Open();
      ASSERT_TRUE(log->Append("run", {}).ok());
    }
    EXPECT_EQ(Verify().tampering, 0u) << begun;
    EXPECT_EQ(Verify().head.seq, begun.empty() ? 4u : 5u);
    EXPECT_THAT(Files(), SizeIs(2));
  }
  TempDir dir;
  path_ = dir.path();
  WriteFile(At(1), "{\"s");
  Open();
  EXPECT_EQ(Verify().tampering, 0u);
  EXPECT_EQ(Verify().head.seq, 1u);
}

TEST_F(AuditLogTest, DoesNotGoOnFromAnEndThatWasAltered) {
  const auto refuses = [&](const std::string& what) {
    const auto log = TryOpen();
    EXPECT_EQ(log.status().code(), absl::StatusCode::kDataLoss) << log.status();
    EXPECT_THAT(std::string(log.status().message()),
                AllOf(HasSubstr(what), HasSubstr("sandglass audit verify"),
                      HasSubstr(path_)));
  };
  Fill(3);
  const std::string text = ReadFile(At(1));
  std::string altered = text;
  altered.replace(altered.find("\"n\":2"), 5, "\"n\":7");
  WriteFile(At(1), altered);
  refuses("line 3 of the log, its last, was altered");
  altered = text;
  altered.replace(altered.find("\"n\":0"), 5, "\"n\":7");
  WriteFile(At(1), altered);
  refuses("line 1 of the log was altered");
  WriteFile(At(1), text.substr(text.find('\n') + 1));
  refuses("by its name");
  // A file that does not follow the one before it.
  WriteFile(At(1), text);
  WriteFile(At(7), "");
  refuses("the log before it ends with line 3");
  fs::remove(At(7));
  WriteFile(At(4), "");
  WriteFile(At(1), text + "junk");
  refuses("its last line is not as it was written");
  fs::remove(At(4));
  WriteFile(At(1), std::string(20 << 20, 'x'));
  refuses("does not end with a line of a log");
}

TEST_F(AuditLogTest, RefusesFilesOfOthers) {
  fs::create_symlink("/etc/passwd", At(1));
  EXPECT_FALSE(TryOpen().ok());
  fs::remove(At(1));
  fs::create_directory(At(1));
  EXPECT_FALSE(TryOpen().ok());
  fs::remove(At(1));
  ASSERT_EQ(::mkfifo(At(1).c_str(), 0600), 0);
  EXPECT_EQ(TryOpen().status().code(), absl::StatusCode::kFailedPrecondition);
  fs::remove(At(1));
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  WriteFile(At(1), "");
  ASSERT_EQ(::chown(At(1).c_str(), 12345, 12345), 0);
  EXPECT_EQ(TryOpen().status().code(), absl::StatusCode::kFailedPrecondition);
  fs::remove(At(1));
  ASSERT_EQ(::chown(path_.c_str(), 12345, 12345), 0);
  const absl::Status status = TryOpen().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("uid 12345"), HasSubstr("audit.dir")));
}

TEST_F(AuditLogTest, ASecondDaemonIsRefused) {
  auto log = Open();
  const absl::Status second = TryOpen().status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.message()), HasSubstr("another sandglassd"));
  log.reset();
  EXPECT_TRUE(TryOpen().ok());
}

TEST_F(AuditLogTest, NoticesThatItsDirectoryIsGone) {
  path_ = dir_.Path("audit");
  fs::create_directory(path_);
  const auto log = Open();
  ASSERT_TRUE(log->Append("run", {}).ok());
  fs::remove_all(path_);
  const absl::Status status = log->Append("run", {});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("was removed"), HasSubstr("restart sandglassd")));
  EXPECT_FALSE(log->Ready().ok());
  EXPECT_EQ(log->Head().seq, 1u);
}

TEST_F(AuditLogTest, NoticesThatItsDirectoryWasRenamed) {
  path_ = dir_.Path("audit");
  fs::create_directory(path_);
  const auto log = Open();
  ASSERT_TRUE(log->Append("run", {}).ok());
  fs::rename(path_, dir_.Path("elsewhere"));
  EXPECT_THAT(std::string(log->Append("run", {}).message()),
              AllOf(HasSubstr("no more: it was renamed; put it back"),
                    HasSubstr("restart sandglassd")));
  fs::create_directory(path_);
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(log->Ready().message(), ", and another is there");
  }));
  EXPECT_EQ(log->Head().seq, 1u);
  fs::remove(path_);
  fs::rename(dir_.Path("elsewhere"), path_);
  EXPECT_TRUE(Eventually([&] { return log->Ready().ok(); }));
  EXPECT_EQ(log->Head().seq, 2u);  // "resumed"
}

TEST_F(AuditLogTest, GoesOnInANewFileWhenItsFileIsGoneOrChanged) {
  const auto log = Open();
  ASSERT_TRUE(log->Append("run", {}).ok());
  fs::remove(At(1));
  EXPECT_TRUE(log->Ready(std::chrono::hours(1)).ok());
  EXPECT_FALSE(log->Ready().ok());
  EXPECT_FALSE(log->Ready(std::chrono::hours(1)).ok());
  EXPECT_FALSE(log->Append("run", {}).ok());
  EXPECT_TRUE(Eventually([&] { return log->Ready().ok(); }));
  EXPECT_THAT(Files(), ElementsAre(AuditFileName(2)));
  const auto entries = Entries();
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_EQ(entries[0]["event"], "resumed");
  EXPECT_EQ(entries[0]["lost"], 1);
  EXPECT_THAT(entries[0]["reason"].get<std::string>(),
              HasSubstr("was removed or replaced"));
  EXPECT_EQ(Verify().tampering, 0u);
  EXPECT_EQ(Verify().first_seq, 2u);

  WriteFile(At(2), ReadFile(At(2)) + "{}\n");
  const absl::Status changed = log->Append("run", {});
  EXPECT_THAT(std::string(changed.message()), HasSubstr("was changed"));
  EXPECT_TRUE(Eventually([&] { return log->Append("run", {}).ok(); }));
  EXPECT_THAT(Files(), SizeIs(2));
  EXPECT_THAT(Found(Verify()), ElementsAre(HasSubstr("begins with its line 2"),
                                           HasSubstr("is no line")));
}

// Takes a line back that the limit cut, and goes on with room.
void FillsUpAndGoesOn(AuditLog& log, const std::string& file,
                      const std::function<void()>& make_room) {
  const Json big = {{"text", std::string(1500, 'x')}};
  absl::Status status;
  int written = 0;
  while (status.ok() && written < 1000) {
    status = log.Append("run", big);
    if (status.ok()) ++written;
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_GT(written, 0);
  EXPECT_THAT(ReadFile(file), ::testing::EndsWith("\"}\n"));
  EXPECT_FALSE(log.Ready().ok());
  EXPECT_FALSE(log.Append("run", big).ok());
  make_room();
  EXPECT_TRUE(Eventually([&] { return log.Ready().ok(); }));
  EXPECT_TRUE(log.Append("run", big).ok());
}

TEST_F(AuditLogTest, AFullDiskIsNoticedAndLeavesNoHalfLine) {
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = 10'000;
  const auto log = Open();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  FillsUpAndGoesOn(*log, At(1), [&] { ::setrlimit(RLIMIT_FSIZE, &before); });
  EXPECT_THAT(Found(Verify()), IsEmpty());
  const auto entries = Entries();
  const auto resumed = std::find_if(
      entries.begin(), entries.end(),
      [](const Json& entry) { return entry["event"] == "resumed"; });
  ASSERT_NE(resumed, entries.end());
  EXPECT_GE((*resumed)["lost"], 2);
}

TEST_F(AuditLogTest, AFullFileSystemIsNoticedAndNotTakenForWritable) {
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=256k") != 0) {
    GTEST_SKIP() << "only root mounts file systems";
  }
  const std::string ballast = path_ + "/ballast";
  WriteFile(ballast, std::string(160 << 10, 'x'));
  const auto log = Open();
  FillsUpAndGoesOn(*log, At(1), [&] { fs::remove(ballast); });
  EXPECT_EQ(Verify().tampering, 0u);
  ::umount2(path_.c_str(), MNT_DETACH);
}

TEST_F(AuditLogTest, InvalidLinesAreRefused) {
  const auto log = Open();
  EXPECT_EQ(log->Append("run", {{"hash", "x"}}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(log->Append("no event", {}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(log->Append("run", {{"text", std::string(5 << 20, 'x')}}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(log->Ready().ok());
  EXPECT_TRUE(log->Append("run", {}).ok());
  EXPECT_EQ(Verify().lines, 1u);
}

TEST_F(AuditLogTest, ManyThreadsMakeOneChain) {
  for (const AuditFsync fsync :
       {AuditFsync::kOff, AuditFsync::kInterval, AuditFsync::kAlways}) {
    TempDir dir;
    path_ = dir.path();
    {
      const auto log = Open({.fsync = fsync,
                             .fsync_interval = absl::Milliseconds(10),
                             .max_file_bytes = 5000});
      std::vector<std::thread> threads;
      threads.reserve(8);
      for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&log, t] {
          for (int i = 0; i < 25; ++i) {
            EXPECT_TRUE(log->Append("run", {{"t", t}, {"i", i}}).ok());
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
    EXPECT_THAT(Found(Verify()), IsEmpty());
    EXPECT_EQ(Verify().lines, 200u);
  }
}

}  // namespace
}  // namespace sandglass::server
