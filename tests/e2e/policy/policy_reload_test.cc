// SIGHUP puts what the policy directory says into force, or keeps what was.

#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "sandglass/v1/operator.pb.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PolicyReload : public OwnDaemonTest {
 protected:
  void SetUp() override {
    policy_ = MakeTestDirectory();
    fs::copy(
        SANDGLASS_SOURCE_DIR "/policy/data", policy_,
        fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    WriteProfile("mine", R"({"description": "d", "env": {"A": "1"}})");
  }
  void TearDown() override {
    OwnDaemonTest::TearDown();
    fs::remove_all(policy_);
  }
  void Start(bool supervised = false, bool canaries = false) {
    DaemonOptions options = {.canaries = canaries,
                             .config = absl::StrCat(R"({"audit": {"dir": ")",
                                                    audit_.Path("log"), "\"}}"),
                             .extra_arguments = {"--policy-dir", policy_}};
    if (supervised) options.extra_arguments.push_back("--supervise");
    StartDaemon(options);
  }
  void WriteProfile(const std::string& name, const std::string& text) const {
    std::ofstream(absl::StrCat(policy_, "/profiles/", name, ".json")) << text;
  }
  v1::PolicyState State() {
    v1::GetServerInfoResponse info;
    EXPECT_THAT(client().Info(&info), IsOk());
    return info.policy();
  }
  static bool WaitFor(const std::function<bool()>& done) {
    return WaitUntil(done, absl::Seconds(30));
  }
  // Why the policy stayed as it was; empty: it didn't.
  std::string Reload() {
    const v1::PolicyState before = State();
    daemon().Signal(SIGHUP);
    EXPECT_TRUE(WaitFor([&] {
      const v1::PolicyState now = State();
      return now.reloads() != before.reloads() ||
             now.reload_error() != before.reload_error();
    }));
    return State().reload_error();
  }
  int ReloadCommand() const {
    return WEXITSTATUS(daemon_->Command("--reload"));
  }
  // Of this name.
  v1::Condition Condition(const std::string& name) {
    std::string answer;
    v1::GetStatusResponse status;
    EXPECT_THAT(client().CallRaw("/sandglass.v1.OperatorService/GetStatus", "",
                                 &answer),
                IsOk());
    EXPECT_TRUE(status.ParseFromString(answer));
    EXPECT_TRUE(status.ready()) << "it serves with the old policy";
    for (const v1::Condition& condition : status.conditions()) {
      if (condition.name() == name) return condition;
    }
    return {};
  }
  RunResult Under(const std::string& profile, const std::string& code,
                  const std::string& language = "python") {
    v1::RunCodeRequest request;
    request.set_language(language);
    request.set_profile(profile);
    request.set_code(code);
    return client().Run(request);
  }
  std::string Said(const std::string& profile, const std::string& code,
                   const std::string& language = "python") {
    const RunResult result = Under(profile, code, language);
    EXPECT_THAT(result.status, IsOk());
    return result.response.stdout().data();
  }

  const TempDir audit_;
  std::string policy_;
};

constexpr char kShowA[] = "import os; print(os.environ.get('A'))";
constexpr char kShowANode[] = "console.log(process.env.A)";

TEST_F(PolicyReload, RunsThatComeAfterItHaveTheNewProfiles) {
  ASSERT_NO_FATAL_FAILURE(Start());
  EXPECT_EQ(Said("mine", kShowA), "1\n");
  // An interpreter that waits has started with the old one's environment.
  EXPECT_EQ(Said("mine", kShowANode, "javascript"), "1\n");
  WriteProfile("mine", R"({"description": "d", "env": {"A": "2"},
      "limits": {"memory_bytes": "200MiB", "workspace_bytes": "32MiB"},
      "seccomp_add": ["debugging"]})");
  WriteProfile("more", R"({"description": "d", "rules": [
      {"id": "no-os", "severity": "deny", "languages": ["python"],
       "modules": ["os"]}]})");
  EXPECT_EQ(Reload(), "");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Said("mine", kShowA), "2\n");
    EXPECT_EQ(Said("mine", kShowANode, "javascript"), "2\n");
  }
  EXPECT_EQ(Under("more", kShowA).response.outcome(), v1::OUTCOME_DENIED);
  // Its zygotes serve it with the filter that has come.
  const RunResult traced = Under(
      "mine", "import ctypes; print(ctypes.CDLL(None).ptrace(0, 0, 0, 0))");
  EXPECT_EQ(traced.response.stdout().data(), "0\n");
  // What is gone can't be asked for, and what was as before is.
  fs::remove(policy_ + "/profiles/more.json");
  EXPECT_EQ(Reload(), "");
  EXPECT_THAT(Under("more", "1").status.error_message(),
              HasSubstr("\"more\" is not known"));
  EXPECT_EQ(State().reloads(), 2U);
}

TEST_F(PolicyReload, AnInvalidPolicyIsReportedAndTheOldOneKept) {
  ASSERT_NO_FATAL_FAILURE(Start(/*supervised=*/true));
  const std::string digest = State().digest();
  WriteProfile("mine", R"({"description": "d", "env": {"A": "2"}})");
  WriteProfile("bad", R"({"description": "d", "limitz": {}})");
  EXPECT_THAT(Reload(), HasSubstr("bad.json: /limitz: unknown key"));
  EXPECT_EQ(Said("mine", kShowA), "1\n");
  EXPECT_EQ(State().digest(), digest);
  EXPECT_FALSE(Condition("policy").holds());
  EXPECT_THAT(Condition("policy").detail(), HasSubstr("limitz"));
  // Once more the same error, which only whoever waits for it can see.
  EXPECT_EQ(ReloadCommand(), 1);
  WriteProfile("bad", R"({"description": "d", "seccomp": "nothing"})");
  EXPECT_THAT(Reload(), HasSubstr("nothing"));
  WriteProfile("bad", R"({"description": "d", "session_files": "durable"})");
  EXPECT_THAT(Reload(), HasSubstr("durable_dir"));
  fs::remove(policy_ + "/profiles/bad.json");
  fs::permissions(policy_ + "/profiles", fs::perms::owner_all);
  EXPECT_THAT(Reload(), HasSubstr("must be able to read policy_dir"));
  fs::permissions(policy_ + "/profiles",
                  fs::perms::group_read | fs::perms::group_exec |
                      fs::perms::others_read | fs::perms::others_exec,
                  fs::perm_options::add);
  EXPECT_EQ(Said("mine", kShowA), "1\n");
  EXPECT_EQ(ReloadCommand(), 0);
  EXPECT_EQ(State().reload_error(), "");
  EXPECT_TRUE(Condition("policy").holds());
  EXPECT_EQ(Said("mine", kShowA), "2\n");
  EXPECT_NE(State().digest(), digest);
  const std::string audit = ReadFile(audit_.Path("log/audit-0000000001.jsonl"));
  EXPECT_THAT(audit, HasSubstr(R"("event":"policy_refused","reason":")"));
  EXPECT_THAT(audit, HasSubstr("limitz"));
  StopDaemon();
}

bool CatchesHangUps(pid_t pid) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  std::string line;
  while (std::getline(status, line)) {
    if (absl::StartsWith(line, "SigCgt:")) {
      return std::string_view("13579bdf").find(line.back()) !=
             std::string_view::npos;
    }
  }
  return false;
}

// A daemon under this process that would catch SIGHUP.
std::optional<Process> FindStartingDaemon() {
  for (const Process& process : ProcessTree(::getpid())) {
    std::string name;
    std::getline(std::ifstream(absl::StrCat("/proc/", process.pid, "/comm")),
                 name);
    if (name == "sandglassd" && CatchesHangUps(process.pid)) return process;
  }
  return std::nullopt;
}

TEST_F(PolicyReload, ASignalDuringTheStartIsKept) {
  bool sent = false;
  std::thread sender([&] {
    sent = WaitFor([] {
      const std::optional<Process> daemon = FindStartingDaemon();
      return daemon && testing::Kill(*daemon, SIGHUP);
    });
  });
  absl::Cleanup join = [&] { sender.join(); };
  ASSERT_NO_FATAL_FAILURE(Start());
  std::move(join).Invoke();
  ASSERT_TRUE(sent);
  EXPECT_TRUE(WaitFor([&] { return State().reloads() == 1; }));
  EXPECT_EQ(Said("mine", kShowA), "1\n");
  StopDaemon();
}

// Whatever the start waits for goes on after one: poll(2) and others end at a
// signal even if its handler asks for more (signal(7)).
TEST_F(PolicyReload, SignalsThroughoutTheStartDisturbNothing) {
  std::atomic<bool> started = false;
  int sent = 0;
  std::thread sender([&] {
    std::optional<Process> daemon;
    if (!WaitFor([&] {
          daemon = FindStartingDaemon();
          return daemon.has_value();
        })) {
      return;
    }
    while (!started && testing::Kill(*daemon, SIGHUP)) {
      ++sent;
      absl::SleepFor(absl::Microseconds(300));
    }
  });
  absl::Cleanup stop = [&] {
    started = true;
    sender.join();
  };
  ASSERT_NO_FATAL_FAILURE(Start());
  std::move(stop).Invoke();
  EXPECT_GT(sent, 10);
  EXPECT_TRUE(WaitFor([&] { return State().reloads() > 0; }));
  EXPECT_THAT(State().reload_error(), IsEmpty());
  EXPECT_EQ(Said("mine", kShowA), "1\n");
  StopDaemon();
}

TEST_F(PolicyReload, RunsUnderWayAreNotDisturbed) {
  ASSERT_NO_FATAL_FAILURE(Start());
  v1::CreateSessionRequest create;
  create.set_language("python");
  create.set_profile("mine");
  TestSession session(client(), create);
  ASSERT_THAT(session.status(), IsOk());
  EXPECT_THAT(session.Run("x = 41").status, IsOk());
  v1::RunCodeRequest slow;
  slow.set_language("python");
  slow.set_profile("mine");
  slow.set_code("import time\nprint('begun', flush=True)\ntime.sleep(1.5)\n" +
                std::string(kShowA));
  StreamCall running(client().stub(), slow);
  ASSERT_TRUE(running.ReadUntil("begun\n"));
  WriteProfile("mine", R"({"description": "d", "env": {"A": "2"}, "rules": [
      {"id": "no-os", "severity": "deny", "languages": ["python"],
       "modules": ["os"]}]})");
  EXPECT_EQ(Reload(), "");
  EXPECT_THAT(running.Finish(), IsOk());
  EXPECT_EQ(running.result()->stdout().data(), "begun\n1\n");
  // A session keeps the profile that it was made by.
  EXPECT_EQ(session.Run("x + 1; import os; print(os.environ['A'])")
                .response.stdout()
                .data(),
            "1\n");
  TestSession later(client(), create);
  ASSERT_THAT(later.status(), IsOk());
  EXPECT_EQ(later.Run("import os").response.outcome(), v1::OUTCOME_DENIED);
}

TEST_F(PolicyReload, ManyAtOnceUnderLoadLoseNothing) {
  ASSERT_NO_FATAL_FAILURE(Start());
  std::thread changes([&] {
    for (int i = 0; i < 40; ++i) {
      WriteProfile(
          "mine",
          absl::StrCat(R"({"description": "d", "env": {"A": ")", i, "\"}}"));
      daemon().Signal(SIGHUP);
      absl::SleepFor(absl::Milliseconds(20));
    }
  });
  for (int i = 0; i < 100; ++i) {
    const RunResult result = Under("mine", kShowA);
    EXPECT_THAT(result.status, IsOk());
    EXPECT_EQ(result.response.outcome(), v1::OUTCOME_OK)
        << result.response.evidence().explanation();
  }
  changes.join();
  EXPECT_THAT(State().reload_error(), IsEmpty());
  // The last one of them came into force, or does now.
  EXPECT_TRUE(WaitFor([&] { return Said("mine", kShowA) == "39\n"; }));
}

TEST_F(PolicyReload, CanariesAreTriedAgainAfterAReload) {
  ASSERT_NO_FATAL_FAILURE(Start(/*supervised=*/false, /*canaries=*/true));
  // What no interpreter can do without.
  WriteProfile("mine", R"({"description": "d", "seccomp": "broken",
                           "languages": ["python"]})");
  std::ofstream(policy_ + "/seccomp/broken.json")
      << R"({"description": "d", "include": ["file_io", "start"]})";
  // A program can be started, and then has no memory.
  std::ofstream(policy_ + "/seccomp/sets/start.json")
      << R"({"description": "d", "rules": [
          {"calls": ["sendmsg", "fchdir", "execve", "clock_gettime",
                     "exit_group"], "action": "allow", "reason": "r"}]})";
  const std::string error = Reload();
  ASSERT_EQ(error, "");
  EXPECT_TRUE(WaitFor([&] {
    return Under("mine", "print(1)")
               .status.error_message()
               .find("canary failed under profile mine") != std::string::npos;
  }));
  EXPECT_FALSE(client().Serving(""));
  // Under the others it works as before.
  EXPECT_EQ(Said("", "print(1)"), "1\n");
  fs::remove(policy_ + "/seccomp/broken.json");
  fs::remove(policy_ + "/profiles/mine.json");
  EXPECT_EQ(Reload(), "");
  EXPECT_TRUE(WaitFor([&] { return client().Serving(""); }));
}

}  // namespace
}  // namespace sandglass::testing
