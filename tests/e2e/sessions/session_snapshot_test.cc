// A session's files as an archive, and out of one.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/support/calls/files.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using grpc::StatusCode;

class Snapshot : public DaemonTest {
 protected:
  static std::string ReasonOf(const grpc::Status& status) {
    return DetailsOf(status).reason;
  }
};

constexpr char kMakeTree[] =
    "import os\n"
    "os.makedirs('d/e', exist_ok=True)\n"
    "open('d/e/f', 'w').write('content'); os.chmod('d/e/f', 0o751)\n"
    "os.utime('d/e/f', (1, 1000000000.25))\n"
    "os.symlink('e/f', 'd/link'); os.mkfifo('fifo')\n"
    "open('large', 'wb').write(os.urandom(5 << 20))\n";
constexpr char kShowTree[] =
    "import os, hashlib\n"
    "for top, dirs, names in sorted(os.walk('.')):\n"
    "  for n in sorted(dirs + names):\n"
    "    p = top + '/' + n; s = os.lstat(p)\n"
    "    if n == 'fifo': continue\n"
    "    print(p, oct(s.st_mode), s.st_mtime,\n"
    "          os.readlink(p) if os.path.islink(p) else\n"
    "          hashlib.md5(open(p, 'rb').read()).hexdigest()\n"
    "          if os.path.isfile(p) else '')";

TEST_F(Snapshot, ASnapshotIsRestoredElsewhereAndReadByTar) {
  TestSession one(client());
  ASSERT_THAT(one.Run(kMakeTree), OutcomeIs(v1::OUTCOME_OK));
  std::string archive;
  ASSERT_THAT(TestFiles(client(), one.id()).Snapshot("", &archive), IsOk());

  TestSession other(client());
  TestFiles files(client(), other.id());
  v1::RestoreFilesResponse restored;
  ASSERT_THAT(files.Restore({}, archive, &restored), IsOk());
  EXPECT_EQ(restored.files(), 5u);
  EXPECT_GT(restored.bytes(), 5u << 20);
  EXPECT_EQ(other.Run(kShowTree).response.stdout().data(),
            one.Run(kShowTree).response.stdout().data());

  const TempDir directory;
  WriteFile(directory.Path("a.tar"), archive);
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  ASSERT_EQ(std::system(absl::StrCat("tar -xf ", directory.Path("a.tar"),
                                     " -C ", directory.path())
                            .c_str()),
            0);
  EXPECT_EQ(ReadFile(directory.Path("d/link")), "content");
}

TEST_F(Snapshot, ADirectoryIsSnapshotAndRestoredIntoAnother) {
  TestSession session(client(), {});
  TestFiles files(client(), session.id());
  ASSERT_THAT(files.Write("a/b", "b"), IsOk());
  ASSERT_THAT(files.Write("c", "c"), IsOk());
  std::string archive;
  ASSERT_THAT(files.Snapshot("a", &archive), IsOk());
  ASSERT_THAT(files.Write("to/old", "old"), IsOk());
  v1::RestoreFilesStart start;
  start.set_path("to/new");
  v1::RestoreFilesResponse restored;
  ASSERT_THAT(files.Restore(start, archive, &restored), IsOk());
  std::string content;
  EXPECT_THAT(files.Read("to/new/b", &content), IsOk());
  start.set_path("to");
  start.set_replace(true);
  ASSERT_THAT(files.Restore(start, archive, &restored), IsOk());
  EXPECT_THAT(files.Read("to/b", &content), IsOk());
  EXPECT_EQ(content, "b");
  EXPECT_EQ(ReasonOf(files.Read("to/old", &content)), "FILE_NOT_FOUND");
  EXPECT_EQ(ReasonOf(files.Read("to/new/b", &content)), "FILE_NOT_FOUND");
}

TEST_F(Snapshot, ArchivesOfOtherToolsAreRestored) {
  const TempDir directory;
  const std::string& top = directory.path();
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  ASSERT_EQ(std::system(absl::StrCat("cd ", top,
                                     " && mkdir in && echo x >in/x && head -c "
                                     "5000 /dev/urandom >in/y && "
                                     "mkfifo in/fifo && tar -C in -cf a.tar . "
                                     "&& gzip -k a.tar")
                            .c_str()),
            0);
  TestSession session(client(), {});
  TestFiles files(client(), session.id());
  v1::RestoreFilesResponse restored;
  ASSERT_THAT(files.Restore({}, ReadFile(top + "/a.tar"), &restored), IsOk());
  EXPECT_EQ(restored.skipped(), 1u);
  std::string content;
  ASSERT_THAT(files.Read("x", &content), IsOk());
  EXPECT_EQ(content, "x\n");
  const grpc::Status packed =
      files.Restore({}, ReadFile(top + "/a.tar.gz"), &restored);
  EXPECT_THAT(packed, StatusIs(StatusCode::INVALID_ARGUMENT));
  EXPECT_EQ(ReasonOf(packed), "FILE_BAD_ARCHIVE");
  const std::string whole = ReadFile(top + "/a.tar");
  EXPECT_FALSE(files.Restore({}, whole.substr(0, 700), &restored).ok());
  v1::RestoreFilesStart start;
  start.set_path("x");
  EXPECT_FALSE(files.Restore(start, whole, &restored).ok());
  EXPECT_THAT(files.Snapshot("not/there", &content),
              StatusIs(StatusCode::NOT_FOUND));
}

TEST_F(Snapshot, AnArchiveThatDoesNotFitIsRefused) {
  const TempDir directory;
  const std::string& top = directory.path();
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  ASSERT_EQ(std::system(absl::StrCat("cd ", top,
                                     " && head -c 80000000 /dev/urandom >x && "
                                     "tar -cf a.tar x")
                            .c_str()),
            0);
  TestSession session(client(), {});
  TestFiles files(client(), session.id());
  v1::RestoreFilesResponse restored;
  const grpc::Status full =
      files.Restore({}, ReadFile(top + "/a.tar"), &restored);
  EXPECT_THAT(full, StatusIs(StatusCode::RESOURCE_EXHAUSTED));
  EXPECT_EQ(ReasonOf(full), "FILE_NO_SPACE");
}

TEST_F(Snapshot, AClientThatStopsReadingOrGoesHoldsNothing) {
  TestSession session(client());
  ASSERT_THAT(session.Run("import os\n"
                          "open('large', 'wb').write(os.urandom(30 << 20))"),
              OutcomeIs(v1::OUTCOME_OK));
  {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kCallDeadline));
    v1::SnapshotFilesRequest request;
    request.set_session_id(session.id());
    const auto reader = client().files().SnapshotFiles(&context, request);
    v1::SnapshotFilesResponse part;
    ASSERT_TRUE(reader->Read(&part));
    // It stands still meanwhile; others go on.
    TestFiles files(client(), session.id());
    for (int i = 0; i < 10; ++i) {
      ASSERT_THAT(files.Write(absl::StrCat("f", i), "x"), IsOk());
    }
    context.TryCancel();
  }
  {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kCallDeadline));
    v1::RestoreFilesResponse response;
    const auto writer = client().files().RestoreFiles(&context, &response);
    v1::RestoreFilesRequest request;
    request.mutable_start()->set_session_id(session.id());
    ASSERT_TRUE(writer->Write(request));
    context.TryCancel();
    EXPECT_FALSE(writer->Finish().ok());
  }
  // Nothing of the two is left that would be in the way of a pause.
  v1::PauseSessionRequest pause;
  pause.set_session_id(session.id());
  grpc::Status paused;
  WaitUntil(
      [&] {
        v1::PauseSessionResponse response;
        paused = CallSessions(client(), &v1::SessionService::Stub::PauseSession,
                              pause, &response);
        return paused.ok();
      },
      absl::Seconds(10));
  EXPECT_THAT(paused, IsOk());
}

TEST_F(Snapshot, ARestoreWithoutAStartIsRefused) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kCallDeadline));
  v1::RestoreFilesResponse response;
  const auto writer = client().files().RestoreFiles(&context, &response);
  v1::RestoreFilesRequest request;
  request.set_data("x");
  writer->Write(request);
  EXPECT_THAT(writer->Finish(), RefusesField("start"));
}

}  // namespace
}  // namespace sandglass::testing
