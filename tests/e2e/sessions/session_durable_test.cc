// Durable sessions: their files outlive the daemon, however it ends.

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/calls/durable.h"
#include "tests/support/calls/files.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;
using Stub = v1::SessionService::Stub;

class Durable : public DurableTest {
 protected:
  static std::string ReasonOf(const grpc::Status& status) {
    return DetailsOf(status).reason;
  }
  static std::string NameOf(const Process& process) {
    const std::string name =
        ReadFile(absl::StrCat("/proc/", process.pid, "/comm"));
    return name.substr(0, name.find('\n'));
  }
};

TEST_F(Durable, FilesOfRunsAndCallsComeBackAndKernelStateIsToldLost) {
  ASSERT_NO_FATAL_FAILURE(Start());
  v1::CreateSessionRequest request = DurableSession();
  (*request.mutable_labels())["thread"] = "7";
  (*request.mutable_env())["COLOUR"] = "red";
  request.mutable_idle_timeout()->set_seconds(600);
  const std::string id = Create(request);
  v1::Session before = Describe(id);
  EXPECT_TRUE(before.durable());
  const RunResult made = RunIn(id,
                               "import os\n"
                               "x = 20\n"
                               "os.makedirs('d/e')\n"
                               "open('d/e/run.txt', 'w').write('by a run')\n"
                               "os.chmod('d/e/run.txt', 0o640)\n"
                               "os.utime('d/e/run.txt', (5, 1234567890.5))\n"
                               "os.symlink('e/run.txt', 'd/link')\n"
                               "os.link('d/e/run.txt', 'other name')\n"
                               "open('nothing', 'w')\n"
                               "os.link('nothing', 'd/same')\n"
                               "os.mkdir('empty', 0o750)");
  ASSERT_THAT(made, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(made.response.session().files_not_saved(), "");
  TestFiles files(client(), id);
  ASSERT_THAT(files.Write("call.txt", "by a call"), IsOk());

  ASSERT_NO_FATAL_FAILURE(Restart());
  v1::Session after = Describe(id);
  EXPECT_EQ(after.state(), v1::SESSION_STATE_DORMANT);
  EXPECT_TRUE(after.durable());
  EXPECT_GT(after.durable_bytes(), 0u);
  EXPECT_EQ(after.labels().at("thread"), "7");
  EXPECT_EQ(after.caller(), before.caller());
  EXPECT_EQ(after.idle_timeout().seconds(), 600);
  EXPECT_EQ(after.create_time().seconds(), before.create_time().seconds());
  const RunResult back = RunIn(
      id,
      "import os\n"
      "print(os.environ['COLOUR'], open('d/link').read(),\n"
      "      open('call.txt').read())\n"
      "info = os.stat('d/e/run.txt')\n"
      "print(oct(info.st_mode & 0o777), info.st_mtime, info.st_nlink)\n"
      "print(oct(os.stat('empty').st_mode & 0o777), os.readlink('d/link'))\n"
      "print(os.path.samefile('nothing', 'd/same'))\n"
      "print('x' in globals())");
  ASSERT_THAT(back, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(back.response.stdout().data(),
            "red by a run by a call\n"
            "0o640 1234567890.5 2\n"
            "0o750 e/run.txt\n"
            "True\n"
            "False\n");
  EXPECT_THAT(back.response.session().state_lost(),
              HasSubstr("daemon was started anew"));
  EXPECT_EQ(Describe(id).state(), v1::SESSION_STATE_ACTIVE);
  EXPECT_EQ(RunIn(id, "1").response.session().state_lost(), "");
}

TEST_F(Durable, AnOrderlyRestartKeepsSessionsToo) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string id = Create();
  const std::string unused = Create(DurableSession(""));
  // Written by what goes on behind the reply.
  ASSERT_THAT(RunIn(id,
                    "import subprocess\n"
                    "subprocess.Popen(['sh', '-c',\n"
                    "                  'sleep 0.3; echo late > late'])"),
              OutcomeIs(v1::OUTCOME_OK));
  ASSERT_TRUE(WaitUntil([&] { return Content(id, "late") == "late\n"; },
                        absl::Seconds(20)));
  ASSERT_NO_FATAL_FAILURE(RestartInOrder());
  EXPECT_EQ(Content(id, "late"), "late\n");
  EXPECT_EQ(Describe(unused).state(), v1::SESSION_STATE_DORMANT);
}

TEST_F(Durable, ChangesAreSavedWhileTheSessionRuns) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string id = Create();
  ASSERT_THAT(RunIn(id,
                    "import os\n"
                    "for n in 'abcdef': open(n, 'w').write(n)\n"
                    "os.mkdir('dir'); open('dir/in', 'w').write('in')"),
              OutcomeIs(v1::OUTCOME_OK));
  ASSERT_THAT(RunIn(id,
                    "os.remove('a'); os.rename('b', 'a')\n"
                    "open('b', 'w').write('new b')\n"
                    "os.rename('dir', 'moved')\n"
                    "os.remove('c'); os.mkdir('c'); open('c/x', 'w')\n"
                    "open('d', 'a').write('more')\n"
                    "os.chmod('e', 0)\n"
                    "os.remove('f'); os.symlink('a', 'f')"),
              OutcomeIs(v1::OUTCOME_OK));
  ASSERT_NO_FATAL_FAILURE(Restart());
  const RunResult back =
      RunIn(id,
            "import os\n"
            "os.chmod('e', 0o600)\n"
            "for top, _, names in sorted(os.walk('.')):\n"
            "  for n in sorted(names):\n"
            "    print(top + '/' + n, open(top + '/' + n).read())");
  EXPECT_EQ(back.response.stdout().data(),
            "./a b\n./b new b\n./d dmore\n./e e\n./f b\n./c/x \n"
            "./moved/in in\n");
}

TEST_F(Durable, FilesOfTheSameSizeWrittenFasterThanTheClockTicksAreSaved) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string id = Create();
  std::string last;
  for (int i = 0; i < 60; ++i) {
    last = absl::StrCat(1000 + i);
    ASSERT_THAT(RunIn(id, absl::StrCat("open('a', 'w').write('", last, "')")),
                OutcomeIs(v1::OUTCOME_OK));
  }
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_EQ(Content(id, "a"), last);
}

TEST_F(Durable, TwentySessionsComeBackAfterSigkill) {
  ASSERT_NO_FATAL_FAILURE(Start());
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    ids.push_back(Create());
    ASSERT_THAT(
        RunIn(ids.back(),
              absl::StrCat("n = ", i, "\nopen('n', 'w').write(str(n))")),
        OutcomeIs(v1::OUTCOME_OK));
  }
  ASSERT_NO_FATAL_FAILURE(Restart());
  v1::ListSessionsRequest list;
  list.add_states(v1::SESSION_STATE_DORMANT);
  v1::ListSessionsResponse listed;
  ASSERT_THAT(CallSessions(client(), &Stub::ListSessions, list, &listed),
              IsOk());
  ASSERT_EQ(listed.sessions_size(), 20);
  for (int i = 0; i < 20; ++i) {
    // Newest first, as before.
    EXPECT_EQ(listed.sessions(19 - i).session_id(), ids[i]);
    EXPECT_EQ(Content(ids[i], "n"), absl::StrCat(i));
  }
}

TEST_F(Durable, EndsAreFinalAndRemembered) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string deleted = Create();
  v1::CreateSessionRequest brief = DurableSession();
  brief.mutable_idle_timeout()->set_seconds(1);
  const std::string idle = Create(brief);
  ASSERT_THAT(RunIn(deleted, "open('a', 'w').write('1')"),
              OutcomeIs(v1::OUTCOME_OK));
  v1::DeleteSessionRequest remove;
  remove.set_session_id(deleted);
  v1::DeleteSessionResponse removed;
  ASSERT_THAT(CallSessions(client(), &Stub::DeleteSession, remove, &removed),
              IsOk());
  ASSERT_NO_FATAL_FAILURE(Kill());
  // Its time goes on without a daemon.
  absl::SleepFor(absl::Milliseconds(1500));
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_EQ(ReasonOf(RunIn(deleted, "1").status), "SESSION_DELETED");
  const grpc::Status expired = RunIn(idle, "1").status;
  EXPECT_EQ(ReasonOf(expired), "SESSION_EXPIRED");
  EXPECT_THAT(expired.error_message(), HasSubstr("not used for 1s"));
  // Nothing of them is left on the disk.
  const std::set<std::string> ended = {"ended"};
  std::set<std::string> left;
  WaitUntil(
      [&] {
        left.clear();
        for (const auto& entry :
             std::filesystem::directory_iterator(kept() + "/sessions")) {
          left.insert(entry.path().filename());
        }
        return left == ended;
      },
      absl::Seconds(10));
  EXPECT_EQ(left, ended);
}

TEST_F(Durable, AJailThatDiesTakesTheKernelsAndNotTheFiles) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string id = Create();
  ASSERT_THAT(RunIn(id, "x = 1\nopen('a', 'w').write('kept')"),
              OutcomeIs(v1::OUTCOME_OK));
  // Init of its jail, as the kernel's out-of-memory killer might.
  bool killed = false;
  for (const Process& process : daemon().Processes()) {
    if (NameOf(process) != "sandglass-init") continue;
    for (const Process& child : ProcessTree(process.pid)) {
      killed |= NameOf(child) == "sandglass-files";
    }
    if (killed) {
      ASSERT_TRUE(testing::Kill(process, SIGKILL));
      ASSERT_TRUE(
          WaitUntil([&] { return !IsAlive(process); }, absl::Seconds(10)));
      break;
    }
  }
  ASSERT_TRUE(killed);
  const RunResult next = RunIn(id, "print(open('a').read(), 'x' in globals())");
  ASSERT_THAT(next, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(next.response.stdout().data(), "kept False\n");
  EXPECT_THAT(next.response.session().state_lost(), HasSubstr("jail"));
}

TEST_F(Durable, WhatThePolicyNoLongerAllowsIsKeptAndSaysSo) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string id = Create();
  ASSERT_THAT(RunIn(id, "open('a', 'w').write('1')"),
              OutcomeIs(v1::OUTCOME_OK));
  const std::string profile = policy() + "/profiles/durable.json";
  const std::string aside = policy() + "/durable.json";
  std::filesystem::rename(profile, aside);
  ASSERT_NO_FATAL_FAILURE(Restart());
  const grpc::Status refused = RunIn(id, "1").status;
  EXPECT_EQ(ReasonOf(refused), "SESSION_UNUSABLE");
  EXPECT_THAT(refused.error_message(), HasSubstr("durable"));
  EXPECT_EQ(Describe(id).state(), v1::SESSION_STATE_DORMANT);
  std::filesystem::rename(aside, profile);
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_EQ(Content(id, "a"), "1");
}

TEST_F(Durable, SessionsOfOtherProfilesAreInMemory) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string id = Create(PythonSession());
  ASSERT_THAT(RunIn(id, "open('a', 'w').write('1')"),
              OutcomeIs(v1::OUTCOME_OK));
  EXPECT_FALSE(Describe(id).durable());
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_EQ(ReasonOf(RunIn(id, "1").status), "SESSION_NOT_FOUND");
}

}  // namespace
}  // namespace sandglass::testing
