// What becomes of lines that the disk doesn't take.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/audit/audit_log_fixture.h"

namespace {
// How many calls fail next, as they do once after a failed writeback.
std::atomic<int> failing_syncs = 0;
}  // namespace

// In place of the C library's in this program.
extern "C" int fdatasync(int fd) {
  if (failing_syncs > 0) {
    --failing_syncs;
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

namespace sandglass::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class AuditSync : public AuditLogTest {
 protected:
  void SetUp() override { failing_syncs = 0; }
};

// The system says it once, and the next call would find nothing to do.
TEST_F(AuditSync, LinesThatDidNotReachTheDiskCountAsLost) {
  for (const AuditFsync fsync : {AuditFsync::kInterval, AuditFsync::kAlways}) {
    SCOPED_TRACE(fsync == AuditFsync::kAlways ? "always" : "interval");
    TempDir dir;
    path_ = dir.path();
    const auto log =
        Open({.fsync = fsync, .fsync_interval = absl::Milliseconds(20)});
    ASSERT_TRUE(log->Append("run", {{"n", 1}}).ok());
    failing_syncs = 1;
    const absl::Status second = log->Append("run", {{"n", 2}});
    if (fsync == AuditFsync::kAlways) {
      EXPECT_FALSE(second.ok());
    }
    ASSERT_TRUE(Eventually([&] { return log->state().lost > 0; }));
    const uint64_t lost = log->state().lost;
    ASSERT_TRUE(Eventually([&] { return log->Ready().ok(); }));
    EXPECT_EQ(log->state().lost, lost);
    EXPECT_THAT(Files(), SizeIs(2)) << "what is doubtful isn't gone on with";
    const std::string resumed = testing::ReadFile(path_ + "/" + Files()[1]);
    EXPECT_THAT(resumed, HasSubstr(absl::StrCat("\"lost\":", lost)));
    EXPECT_TRUE(log->Append("run", {{"n", 3}}).ok());
    EXPECT_THAT(Found(Verify()), IsEmpty());
  }
}

TEST_F(AuditSync, ADiskThatTakesNothingForLongCostsNoOldFile) {
  for (const AuditFsync fsync : {AuditFsync::kInterval, AuditFsync::kAlways}) {
    SCOPED_TRACE(fsync == AuditFsync::kAlways ? "always" : "interval");
    TempDir dir;
    path_ = dir.path();
    const auto log = Open({.fsync = fsync,
                           .fsync_interval = absl::Milliseconds(10),
                           .max_file_bytes = 300,
                           .max_files = 2});
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(log->Append("run", {{"n", std::string(200, 'x')}}).ok());
    }
    const std::vector<std::string> files = Files();
    ASSERT_THAT(files, SizeIs(2));
    failing_syncs = 4;
    log->Append("run", {{"n", std::string(80, 'x')}}).IgnoreError();
    ASSERT_TRUE(Eventually([&] {
      log->Ready().IgnoreError();
      return failing_syncs == 1;
    }));
    EXPECT_FALSE(log->Ready().ok());
    EXPECT_TRUE(Eventually([&] { return Files() == files; }));
    const uint64_t lost = log->state().lost;
    ASSERT_TRUE(Eventually([&] { return log->Ready().ok(); }));
    EXPECT_EQ(log->state().lost, lost);
    EXPECT_THAT(Files(), SizeIs(2));
    EXPECT_EQ(Files()[0], files[1]);
    EXPECT_TRUE(log->Append("run", {{"n", 1}}).ok());
    // Of the files that are deleted in their turn.
    EXPECT_THAT(Found(Verify()),
                ElementsAre(HasSubstr("the log begins with its line")));
  }
}

TEST_F(AuditSync, AFileThatCanNotBeSyncedWhenItIsFullIsDoubtful) {
  const auto log = Open({.fsync = AuditFsync::kInterval,
                         .fsync_interval = absl::Hours(1),
                         .max_file_bytes = 300});
  ASSERT_TRUE(log->Append("run", {{"n", 1}}).ok());
  failing_syncs = 1;
  EXPECT_FALSE(log->Append("run", {{"n", std::string(300, '2')}}).ok());
  EXPECT_EQ(log->state().lost, 2u) << "the one before it, and its own";
  ASSERT_TRUE(Eventually([&] { return log->Ready().ok(); }));
  EXPECT_THAT(Files(), SizeIs(2));
}

}  // namespace
}  // namespace sandglass::server
