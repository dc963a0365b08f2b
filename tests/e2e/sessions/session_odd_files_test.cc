// Files of any time, and files that several write at once, through all that
// keeps, copies or changes a session's files.

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/calls/durable.h"
#include "tests/support/calls/files.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kMake[] =
    "import os, subprocess\n"
    "os.mkdir('d1600')\n"
    "for n in ('f2486', 'd/f1600'):\n"
    "  os.makedirs(os.path.dirname(n) or '.', exist_ok=True)\n"
    "  open(n, 'w').write('content of ' + n)\n"
    "os.symlink('nowhere', 'l2486'); open('e2486', 'w')\n"
    "os.link('e2486', 'h2486')\n"
    "for n in ('f2486', 'l2486', 'e2486'):\n"
    "  subprocess.run(['touch', '-h', '-d', '2486-01-01 00:00:00.25 UTC', n],\n"
    "                 check=True)\n"
    "for n in ('d/f1600', 'd1600'):\n"
    "  subprocess.run(['touch', '-d', '1600-01-01 00:00:00.75 UTC', n],\n"
    "                 check=True)\n";
constexpr char kShow[] =
    "import os, subprocess\n"
    "print(subprocess.run(['stat', '-c', '%n %y %s', 'f2486', 'l2486',\n"
    "                      'e2486', 'h2486', 'd/f1600', 'd1600'],\n"
    "      env={'TZ': 'UTC', 'PATH': os.environ['PATH']},\n"
    "      capture_output=True, text=True).stdout)\n"
    "print(open('f2486').read(), open('d/f1600').read())\n";

class OddFiles : public DurableTest {
 protected:
  std::string Shown(const std::string& id) {
    const RunResult result = RunIn(id, kShow);
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    return result.response.stdout().data();
  }
  // A durable session with such files.
  std::string Make() {
    std::string id = Create();
    const RunResult made = RunIn(id, kMake);
    EXPECT_THAT(made, OutcomeIs(v1::OUTCOME_OK))
        << made.response.stderr().data();
    EXPECT_EQ(made.response.session().files_not_saved(), "");
    return id;
  }
};

TEST_F(OddFiles, FilesWithFarTimesSurviveSnapshotForkAndRestart) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string id = Make();
  const std::string shown = Shown(id);
  EXPECT_THAT(shown, HasSubstr("f2486 2486-01-01 00:00:00.25"));
  EXPECT_THAT(shown, HasSubstr("d/f1600 1600-01-01 00:00:00.75"));

  std::string archive;
  ASSERT_THAT(TestFiles(client(), id).Snapshot("", &archive), IsOk());
  const std::string other = Create();
  v1::RestoreFilesResponse restored;
  ASSERT_THAT(TestFiles(client(), other).Restore({}, archive, &restored),
              IsOk());
  EXPECT_EQ(restored.files(), 7u);
  EXPECT_EQ(Shown(other), shown);

  v1::ForkSessionRequest fork;
  fork.set_session_id(id);
  fork.add_children();
  v1::ForkSessionResponse forked;
  ASSERT_THAT(CallSessions(client(), &v1::SessionService::Stub::ForkSession,
                           fork, &forked),
              IsOk());
  ASSERT_EQ(forked.sessions_size(), 1);
  EXPECT_EQ(Shown(forked.sessions(0).session_id()), shown);

  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_EQ(Shown(id), shown);
  EXPECT_EQ(Shown(forked.sessions(0).session_id()), shown);
  // A time that no Timestamp has is told as its nearest.
  v1::StatFileRequest stat;
  stat.set_path("f2486");
  v1::StatFileResponse told;
  ASSERT_THAT(TestFiles(client(), id)
                  .Named(&v1::FileService::Stub::StatFile, stat, &told),
              IsOk());
  EXPECT_EQ(told.info().modify_time().seconds(), 16'283'462'400);
  ASSERT_THAT(RunIn(id, "os.utime('f2486', ns=(0, 10**9 * 10**12))"),
              OutcomeIs(v1::OUTCOME_OK));
  ASSERT_THAT(TestFiles(client(), id)
                  .Named(&v1::FileService::Stub::StatFile, stat, &told),
              IsOk());
  EXPECT_EQ(told.info().modify_time().seconds(), 253'402'300'799);
}

TEST_F(OddFiles, NoAppendOfManyClientsIsLost) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string id = Create();
  ASSERT_THAT(RunIn(id,
                    "log = open('log', 'a', buffering=1)\n"
                    "log.write('program\\n')"),
              OutcomeIs(v1::OUTCOME_OK));
  constexpr int kClients = 6, kLines = 10;
  std::vector<std::thread> threads;
  threads.reserve(kClients);
  for (int who = 0; who < kClients; ++who) {
    threads.emplace_back([&, who] {
      TestFiles files(client(), id);
      v1::FileWriteStart start;
      start.set_path("log");
      start.set_write_mode(v1::FILE_WRITE_MODE_APPEND);
      for (int i = 0; i < kLines; ++i) {
        v1::FileInfo info;
        EXPECT_THAT(
            files.WriteAs(start,
                          {absl::StrCat("<", who), absl::StrCat(" ", i, ">\n")},
                          &info),
            IsOk());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_THAT(RunIn(id, "log.write('program again\\n')"),
              OutcomeIs(v1::OUTCOME_OK));
  const std::string text = Content(id, "log");
  for (int who = 0; who < kClients; ++who) {
    for (int i = 0; i < kLines; ++i) {
      EXPECT_THAT(text, HasSubstr(absl::StrCat("<", who, " ", i, ">\n")));
    }
  }
  EXPECT_THAT(text, HasSubstr("program again\n"));
  // Which holds it open still.
  v1::EditFileRequest edit;
  edit.set_path("log");
  edit.set_old_text("program again");
  edit.set_new_text("edited");
  v1::EditFileResponse edited;
  TestFiles files(client(), id);
  const grpc::Status refused =
      files.Named(&v1::FileService::Stub::EditFile, edit, &edited);
  EXPECT_THAT(refused, StatusIs(grpc::StatusCode::ABORTED));
  EXPECT_EQ(DetailsOf(refused).reason, "FILE_BUSY_CHANGED");
  EXPECT_THAT(refused.error_message(), HasSubstr("read it again"));
  ASSERT_THAT(RunIn(id, "log.close()"), OutcomeIs(v1::OUTCOME_OK));
  EXPECT_THAT(files.Named(&v1::FileService::Stub::EditFile, edit, &edited),
              IsOk());
  EXPECT_THAT(Content(id, "log"), HasSubstr("edited\n"));
  // As clients do that keep a history in a file.
  const std::string history(3 << 20, 'h');
  edit.set_old_text(Content(id, "log"));
  edit.set_new_text(history);
  ASSERT_THAT(files.Named(&v1::FileService::Stub::EditFile, edit, &edited),
              IsOk());
  edit.set_old_text(history);
  edit.set_new_text(history + "!");
  ASSERT_THAT(files.Named(&v1::FileService::Stub::EditFile, edit, &edited),
              IsOk());
  EXPECT_EQ(Content(id, "log"), history + "!");
}

}  // namespace
}  // namespace sandglass::testing
