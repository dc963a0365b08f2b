// Durable sessions when things go wrong: a daemon that is killed at any moment,
// a full disk, a copy that is damaged, files that no honest program makes.

#include <signal.h>
#include <sys/mount.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/calls/durable.h"
#include "tests/support/calls/files.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tier.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;
using Stub = v1::SessionService::Stub;

class DurableFaults : public DurableTest {
 protected:
  static std::string ReasonOf(const grpc::Status& status) {
    return DetailsOf(status).reason;
  }
  // Of the only session's copy.
  std::string Copy(const std::string& id, const std::string& name) const {
    return absl::StrCat(kept(), "/sessions/", id, "/", name);
  }
};

TEST_F(DurableFaults, NothingAcknowledgedIsLostBySigkill) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string by_call = Create(DurableSession(""));
  const std::string by_run = Create();
  int called = 0, ran = 0;
  const int rounds = OnlyAPart() ? 1 : 3;
  for (int round = 0; round < rounds; ++round) {
    // Clients of their own: a call that the daemon's end meets may hang on.
    std::atomic<bool> stop{false};
    std::thread calls([&] {
      TestFiles files(client(), by_call);
      while (!stop) {
        v1::FileWriteStart start;
        start.set_path(absl::StrCat("f", called));
        start.set_mode(0600 + static_cast<uint32_t>(called % 8));
        const std::string content(1 + called * 977 % 50'000,
                                  static_cast<char>('a' + called % 26));
        if (!files.WriteAs(start, {content}, nullptr).ok()) return;
        ++called;
      }
    });
    std::thread runs([&] {
      while (!stop) {
        const RunResult result =
            RunIn(by_run, absl::StrCat("open('f", ran, "', 'w').write('", ran,
                                       "' * 1000)\nopen('last', 'w').write('",
                                       ran, "')"));
        if (!result.status.ok() ||
            result.response.outcome() != v1::OUTCOME_OK ||
            !result.response.session().files_not_saved().empty()) {
          return;
        }
        ++ran;
      }
    });
    absl::SleepFor(absl::Milliseconds(1500 + 370 * round));
    ASSERT_NO_FATAL_FAILURE(Kill());
    stop = true;
    calls.join();
    runs.join();
    ASSERT_NO_FATAL_FAILURE(Restart());
    ASSERT_GT(called, round);
    ASSERT_GT(ran, round);
    TestFiles files(client(), by_call);
    for (int i = 0; i < called; ++i) {
      std::string content;
      v1::StatFileRequest stat;
      stat.set_path(absl::StrCat("f", i));
      v1::StatFileResponse facts;
      ASSERT_THAT(files.Read(stat.path(), &content), IsOk()) << i;
      EXPECT_EQ(content, std::string(1 + i * 977 % 50'000,
                                     static_cast<char>('a' + i % 26)));
      ASSERT_THAT(files.Named(&v1::FileService::Stub::StatFile, stat, &facts),
                  IsOk());
      EXPECT_EQ(facts.info().mode(), 0600u + static_cast<uint32_t>(i % 8));
    }
    const RunResult all = RunIn(
        by_run, absl::StrCat("n = int(open('last').read())\n"
                             "assert n >= ",
                             ran - 1,
                             "\n"
                             "for i in range(",
                             ran,
                             "):\n"
                             "  assert open(f'f{i}').read() == str(i) * 1000\n"
                             "print('all')"));
    EXPECT_EQ(all.response.stdout().data(), "all\n")
        << all.response.stderr().data();
    if (HasFailure()) return;
    // The one under way may have been saved without its answer.
    called += 1;
    ran += 1;
    ASSERT_THAT(files.Write(absl::StrCat("f", called - 1), ""), IsOk());
    ASSERT_THAT(
        RunIn(by_run, absl::StrCat("open('f", ran - 1, "', 'w').write('",
                                   ran - 1, "' * 1000)")),
        OutcomeIs(v1::OUTCOME_OK));
    v1::FileWriteStart start;
    start.set_path(absl::StrCat("f", called - 1));
    start.set_mode(0600 + static_cast<uint32_t>((called - 1) % 8));
    ASSERT_THAT(
        files.WriteAs(start,
                      {std::string(1 + (called - 1) * 977 % 50'000,
                                   static_cast<char>('a' + (called - 1) % 26))},
                      nullptr),
        IsOk());
  }
}

TEST_F(DurableFaults, AtTheBoundWritesAreRefusedAndSavedFilesStay) {
  ASSERT_NO_FATAL_FAILURE(Start(", \"durable_bytes\": \"1MiB\""));
  const std::string id = Create();
  ASSERT_THAT(RunIn(id, "open('a', 'w').write('kept')"),
              OutcomeIs(v1::OUTCOME_OK));
  // The run itself went well.
  const RunResult large = RunIn(
      id, "import os\nopen('big', 'wb').write(os.urandom(2 << 20))\nprint(1)");
  ASSERT_THAT(large, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(large.response.stdout().data(), "1\n");
  EXPECT_THAT(large.response.session().files_not_saved(),
              HasSubstr("durable_bytes"));
  TestFiles files(client(), id);
  const grpc::Status refused = files.Write("b", "b");
  EXPECT_THAT(refused, StatusIs(grpc::StatusCode::RESOURCE_EXHAUSTED));
  EXPECT_EQ(ReasonOf(refused), "DURABLE_SPACE_FULL");
  // Room makes it good, also for what was refused before.
  const RunResult small = RunIn(id, "os.remove('big')");
  EXPECT_EQ(small.response.session().files_not_saved(), "");
  ASSERT_NO_FATAL_FAILURE(Restart(", \"durable_bytes\": \"1MiB\""));
  EXPECT_EQ(Content(id, "a"), "kept");
  EXPECT_EQ(Content(id, "b"), "b");
}

TEST_F(DurableFaults, AFullDiskIsReportedAndRecoveredFrom) {
  const std::string disk = kept() + "/sessions";
  ASSERT_TRUE(std::filesystem::create_directory(disk));
  ASSERT_EQ(::mount("small", disk.c_str(), "tmpfs", MS_NOSUID | MS_NODEV,
                    "size=1m,mode=0700"),
            0)
      << "needs root";
  // The disk goes away whatever fails.
  Start();
  if (!HasFatalFailure()) {
    const std::string id = Create();
    EXPECT_THAT(RunIn(id, "open('a', 'w').write('kept')"),
                OutcomeIs(v1::OUTCOME_OK));
    const RunResult large =
        RunIn(id, "import os\nopen('big', 'wb').write(os.urandom(3 << 20))");
    EXPECT_THAT(large, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_THAT(large.response.session().files_not_saved(),
                HasSubstr("No space left"));
    EXPECT_EQ(RunIn(id, "os.remove('big'); open('b', 'w').write('b')")
                  .response.session()
                  .files_not_saved(),
              "");
    Restart();
    if (!HasFatalFailure()) {
      EXPECT_EQ(Content(id, "a"), "kept");
      EXPECT_EQ(Content(id, "b"), "b");
      StopDaemon();
    }
  }
  EXPECT_EQ(::umount2(disk.c_str(), MNT_DETACH), 0);
}

TEST_F(DurableFaults, FilesThatCantBeRestoredAreReportedAndTheRestIsThere) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string id = Create();
  ASSERT_THAT(RunIn(id,
                    "import os\n"
                    "open('a', 'w').write('first'); os.mkdir('closed')\n"
                    "open('closed/b', 'wb').write(os.urandom(600_000))\n"
                    "os.link('closed/b', 'c')"),
              OutcomeIs(v1::OUTCOME_OK));
  ASSERT_THAT(RunIn(id,
                    "os.chmod('closed', 0o500)\n"
                    "open('d', 'w').write('last')"),
              OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(Describe(id).missing_file_count(), 0u);
  ASSERT_NO_FATAL_FAILURE(Kill());
  // Near its end, when most of it is in the jail already.
  std::string damaged;
  for (const char* name : {"1", "2", "3"}) {
    std::string bytes = ReadFile(Copy(id, name));
    if (bytes.size() != 600'000) continue;
    bytes[599'000] ^= 1;
    WriteFile(Copy(id, name), bytes);
    damaged = name;
  }
  ASSERT_NE(damaged, "");
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_EQ(Content(id, "a"), "first");
  EXPECT_EQ(Content(id, "d"), "last");
  const v1::Session session = Describe(id);
  EXPECT_EQ(session.missing_file_count(), 2u);
  ASSERT_EQ(session.missing_files_size(), 2);
  EXPECT_EQ(session.missing_files(0).path(), "c");
  EXPECT_EQ(session.missing_files(1).path(), "closed/b");
  EXPECT_THAT(session.missing_files(0).reason(),
              HasSubstr("as it was written"));
  EXPECT_EQ(RunIn(id,
                  "import os\n"
                  "print(os.path.exists('c'), os.listdir('closed'))\n"
                  "open('e', 'w').write('new')")
                .response.stdout()
                .data(),
            "False []\n");
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_EQ(Content(id, "e"), "new");
}

TEST_F(DurableFaults, ADamagedListIsRefusedAndDisturbsNobody) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string list = Create(DurableSession(""));
  const std::string record = Create(DurableSession(""));
  const std::string whole = Create(DurableSession(""));
  for (const std::string& id : {list, record, whole}) {
    ASSERT_THAT(TestFiles(client(), id).Write("a", "content"), IsOk());
  }
  ASSERT_NO_FATAL_FAILURE(Kill());
  std::string bytes = ReadFile(Copy(list, "files"));
  bytes[bytes.size() / 2] ^= 1;
  WriteFile(Copy(list, "files"), bytes);
  WriteFile(Copy(record, "record"), "");
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_EQ(Content(whole, "a"), "content");
  std::string read;
  for (const std::string& id : {list}) {
    const grpc::Status damaged = TestFiles(client(), id).Read("a", &read);
    EXPECT_THAT(damaged, StatusIs(grpc::StatusCode::DATA_LOSS));
    EXPECT_EQ(ReasonOf(damaged), "SESSION_FILES_DAMAGED");
    // Nothing can be put over what is left of it.
    EXPECT_FALSE(TestFiles(client(), id).Write("b", "b").ok());
    v1::DeleteSessionRequest remove;
    remove.set_session_id(id);
    v1::DeleteSessionResponse removed;
    EXPECT_THAT(CallSessions(client(), &Stub::DeleteSession, remove, &removed),
                IsOk());
  }
  EXPECT_EQ(ReasonOf(TestFiles(client(), record).Read("a", &read)),
            "SESSION_NOT_FOUND");
}

TEST_F(DurableFaults, OddFilesComeBackAsTheyWere) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string id = Create();
  const RunResult made =
      RunIn(id,
            "import os, socket\n"
            "names = [b'new\\nline', b'\\xff\\xfe', b'n' * 255, b' ', b'-rf', "
            "b'..x']\n"
            "for n in names: open(n, 'wb').write(n)\n"
            "os.symlink('/etc/shadow', 'out'); os.symlink('self', 'self')\n"
            "os.symlink(b'x' * 4000, 'long')\n"
            "os.mkfifo('fifo'); socket.socket(socket.AF_UNIX).bind('sock')\n"
            "open('secret', 'w').write('mine'); os.chmod('secret', 0)\n"
            "os.makedirs('closed/in'); open('closed/in/x', 'w').write('x')\n"
            "os.chmod('closed/in', 0); os.chmod('closed', 0)\n"
            "f = open('hole', 'wb'); f.truncate(40 << 20)\n"
            "f.seek(20 << 20); f.write(b'middle'); f.close()\n"
            "d = os.getcwd()\n"
            "for i in range(300):\n"
            "  os.mkdir('deep'); os.chdir('deep')\n"
            "os.chdir(d)");
  ASSERT_THAT(made, OutcomeIs(v1::OUTCOME_OK)) << made.response.stderr().data();
  EXPECT_EQ(made.response.session().files_not_saved(), "");
  // Looking at them has changed nothing.
  EXPECT_EQ(RunIn(id,
                  "print(oct(os.stat('closed').st_mode),"
                  " oct(os.stat('secret').st_mode))")
                .response.stdout()
                .data(),
            "0o40000 0o100000\n");
  EXPECT_LT(Describe(id).durable_bytes(), uint64_t{1} << 20);
  ASSERT_NO_FATAL_FAILURE(Restart());
  const RunResult back = RunIn(
      id,
      "import os\n"
      "names = [b'new\\nline', b'\\xff\\xfe', b'n' * 255, b' ', b'-rf', "
      "b'..x']\n"
      "print([open(n, 'rb').read() == n for n in names].count(True))\n"
      "print(os.readlink('out'), os.readlink('self'), "
      "len(os.readlink('long')))\n"
      "print(os.path.exists('fifo'), os.path.exists('sock'))\n"
      "print(oct(os.stat('closed').st_mode), oct(os.stat('secret').st_mode))\n"
      "os.chmod('closed', 0o700); os.chmod('closed/in', 0o700)\n"
      "os.chmod('secret', 0o600)\n"
      "print(open('closed/in/x').read(), open('secret').read())\n"
      "h = open('hole', 'rb').read(); s = os.stat('hole')\n"
      "print(len(h), h.count(b'\\0'), h[20 << 20:][:6], s.st_blocks < 100)\n"
      "print(sum(1 for _ in os.walk('deep')))");
  ASSERT_THAT(back, OutcomeIs(v1::OUTCOME_OK)) << back.response.stderr().data();
  EXPECT_EQ(back.response.stdout().data(),
            "6\n/etc/shadow self 4000\nFalse False\n0o40000 0o100000\nx mine\n"
            "41943040 41943034 b'middle' True\n300\n");
}

TEST_F(DurableFaults, SavesGoOnWhileFilesChange) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string id = Create();
  ASSERT_THAT(
      RunIn(id,
            "import subprocess\n"
            "open('still', 'w').write('still')\n"
            "code = '''\n"
            "import os\n"
            "while True:\n"
            "  for i in range(50):\n"
            "    with open(f'f{i}', 'wb') as f: f.write(os.urandom(i * 3000))\n"
            "    os.truncate(f'f{i}', i * 100)\n"
            "    if i % 3 == 0: os.remove(f'f{i}')\n"
            "    if i % 7 == 1: os.rename(f'f{i}', f'g{i}')\n"
            "'''\n"
            "p = subprocess.Popen(['python3', '-c', code])"),
      OutcomeIs(v1::OUTCOME_OK));
  TestFiles files(client(), id);
  for (int i = 0; i < 40; ++i) {
    ASSERT_THAT(files.Write("call", absl::StrCat("call ", i)), IsOk()) << i;
  }
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_EQ(Content(id, "still"), "still");
  EXPECT_EQ(Content(id, "call"), "call 39");
}

TEST_F(DurableFaults, CodeThatEndsTheAgentLosesNothing) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string id = Create();
  for (int i = 0; i < 3; ++i) {
    const RunResult result = RunIn(
        id, absl::StrCat("import os, signal\n"
                         "open('a', 'w').write('",
                         i,
                         "')\n"
                         "for p in filter(str.isdigit, os.listdir('/proc')):\n"
                         "  try:\n"
                         "    if open(f'/proc/{p}/comm').read().startswith("
                         "'sandglass-files'): os.kill(int(p), 9)\n"
                         "  except OSError: pass"));
    ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_EQ(result.response.session().files_not_saved(), "");
  }
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_EQ(Content(id, "a"), "2");
}

TEST_F(DurableFaults, TenThousandFilesComeBack) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string id = Create();
  const RunResult made =
      RunIn(id, "for i in range(10000): open(f'f{i}', 'w').write(str(i))");
  ASSERT_THAT(made, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(made.response.session().files_not_saved(), "");
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_EQ(RunIn(id,
                  "print(sum(open(f'f{i}').read() == str(i)"
                  " for i in range(10000)))")
                .response.stdout()
                .data(),
            "10000\n");
}

}  // namespace
}  // namespace sandglass::testing
