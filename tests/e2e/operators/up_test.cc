// `sandglass up`, `down` and `logs` with real daemons.

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

struct Result {
  int exit_code;
  std::string text;  // output, then errors
};

class Up : public ::testing::Test {
 protected:
  Up() {
    // Beside the daemons of other tests.
    std::ofstream(config()) << R"({"uid_base": 900000000, "canaries": false})";
  }
  ~Up() override { (void)Sandglass("down --now"); }

  std::string config() const { return dir_.path() + "/config.json"; }
  std::string state() const { return dir_.path() + "/state"; }
  std::string address() const {
    return absl::StrCat("unix:", state(), "/sandglass.sock");
  }
  std::string log() const { return state() + "-up/log"; }
  // As a user types it, with words between blanks.
  Result Sandglass(const std::string& command,
                   const std::string& more = "") const {
    client::SubprocessOptions options;
    options.env = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
    options.args = absl::StrSplit(
        absl::StrCat(command, " --state-dir ", state(), " ", more), ' ',
        absl::SkipEmpty());
    const client::SubprocessResult result = client::RunProcess(options);
    return {result.exit_code, result.out + result.err};
  }
  Result Start(const std::string& options = "",
               const std::string& of_daemon = "") const {
    return Sandglass("up " + options,
                     absl::StrCat("-- --config ", config(), " --cache-dir ",
                                  dir_.path(), "/cache ", of_daemon));
  }
  // The daemon that `up` wrote down.
  pid_t Pid() const {
    const std::vector<std::string> words =
        absl::StrSplit(ReadFile(state() + "-up/daemon"), ' ');
    pid_t pid = 0;
    EXPECT_TRUE(absl::SimpleAtoi(words.front(), &pid));
    return pid;
  }
  void ExpectNothingLeft() const {
    EXPECT_FALSE(fs::exists(state()));
    EXPECT_FALSE(fs::exists(state() + "-up"));
  }

  TempDir dir_;
};

TEST_F(Up, ADaemonServesUntilItIsDown) {
  const Result up = Start();
  ASSERT_EQ(up.exit_code, 0) << up.text;
  EXPECT_THAT(up.text, HasSubstr(" is up\n"));
  EXPECT_THAT(up.text, HasSubstr(absl::StrCat("listens     ", address())));
  EXPECT_THAT(up.text, HasSubstr("layers in force"));
  EXPECT_THAT(Client(address()).Run(Bash("echo 1")), OutcomeIs(v1::OUTCOME_OK));
  const std::vector<Process> processes = ProcessTree(Pid());
  EXPECT_GE(processes.size(), 3U);  // with spawners
  for (const Process& process : processes) {
    // Of the host's root there is none: real, effective, saved, for files.
    const std::string uids = StatusOf(process.pid)["Uid"];
    for (const absl::string_view uid :
         absl::StrSplit(uids, absl::ByAnyChar(" \t"), absl::SkipEmpty())) {
      EXPECT_NE(uid, "0") << "process " << process.pid;
    }
    EXPECT_NE(uids, "") << "process " << process.pid;
  }

  EXPECT_THAT(up.text,
              HasSubstr(absl::StrCat("try         sandglass --address ",
                                     address(), " run")));

  const Result again = Start();
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.text, HasSubstr("it is up already"));
  const auto json = nlohmann::json::parse(Start("--json").text, nullptr, false);
  EXPECT_EQ(json["address"], address());
  EXPECT_EQ(json["log"], log());
  EXPECT_EQ(json["started"], false);
  EXPECT_FALSE(json["info"]["isolation"].empty());

  const Result logs = Sandglass("logs -n 1000");
  EXPECT_EQ(logs.exit_code, 0);
  EXPECT_THAT(logs.text, HasSubstr("listening on address="));
  EXPECT_THAT(logs.text, HasSubstr("run_end"));

  const Result down = Sandglass("down");
  EXPECT_EQ(down.exit_code, 0) << down.text;
  EXPECT_EQ(down.text, "sandglassd is down\n");
  EXPECT_TRUE(WaitUntilDead(processes, absl::Seconds(10)));
  ExpectNothingLeft();
  EXPECT_EQ(Sandglass("down").text, "no daemon is up\n");
  EXPECT_EQ(Sandglass("down --json").text, "{\"ended\":false}\n");
  EXPECT_EQ(Sandglass("logs").exit_code, 125);
}

TEST_F(Up, WhatItCannotStartWithIsSaid) {
  std::ofstream(config()) << R"({"pool": {"floor": "many"}})";
  const Result up = Start();
  EXPECT_EQ(up.exit_code, 125);
  EXPECT_THAT(up.text, HasSubstr("could not start; its last words"));
  EXPECT_THAT(up.text, HasSubstr("/pool/floor"));
  ExpectNothingLeft();
}

TEST_F(Up, AKilledDaemonIsClearedAway) {
  ASSERT_EQ(Start().exit_code, 0);
  const std::vector<Process> processes = ProcessTree(Pid());
  for (const Process& process : processes) Kill(process, SIGKILL);
  ASSERT_TRUE(WaitUntilDead(processes, absl::Seconds(10)));
  EXPECT_EQ(Sandglass("down").exit_code, 0);
  ExpectNothingLeft();
  // And one can be started in its place.
  ASSERT_EQ(Start().exit_code, 0);
  EXPECT_EQ(Sandglass("down --now").exit_code, 0);
  ExpectNothingLeft();
}

TEST_F(Up, AGroupMayUseIt) {
  const Result up = Start("--group nogroup");
  ASSERT_EQ(up.exit_code, 0) << up.text;
  EXPECT_THAT(up.text, HasSubstr("for root and group nogroup"));
  struct stat info = {};
  ASSERT_EQ(::stat((state() + "/sandglass.sock").c_str(), &info), 0);
  EXPECT_EQ(info.st_gid, 65534U);
  EXPECT_EQ(Sandglass("down").exit_code, 0);
  const Result none = Start("--group no-such-group");
  EXPECT_EQ(none.exit_code, 125);
  EXPECT_THAT(none.text, HasSubstr("no-such-group"));
  ExpectNothingLeft();
}

TEST_F(Up, ADaemonThatIsTooSlowIsGivenUp) {
  const Result up = Start("--wait 1ms");
  EXPECT_EQ(up.exit_code, 125);
  EXPECT_THAT(up.text, HasSubstr("doesn't serve after 1ms"));
  ExpectNothingLeft();
}

TEST_F(Up, ADaemonEndsWhenNobodyUsesIt) {
  ASSERT_EQ(Start("", "--end-when-idle 2s").exit_code, 0);
  const std::vector<Process> processes = ProcessTree(Pid());
  {
    // A run, and a session with nobody connected.
    Client client(address());
    EXPECT_THAT(client.Run(Bash("sleep 3")), OutcomeIs(v1::OUTCOME_OK));
    v1::CreateSessionRequest create;
    create.set_language("bash");
    create.mutable_idle_timeout()->set_seconds(3);
    v1::CreateSessionResponse session;
    grpc::ClientContext context;
    ASSERT_THAT(client.sessions().CreateSession(&context, create, &session),
                IsOk());
  }
  EXPECT_FALSE(WaitUntilDead(processes, absl::Milliseconds(2500)));
  EXPECT_TRUE(WaitUntilDead(processes, absl::Seconds(30)));
  EXPECT_THAT(ReadFile(log()), HasSubstr("idle_end"));
  EXPECT_EQ(Sandglass("down").text, "no daemon is up\n");
  ExpectNothingLeft();
}

TEST_F(Up, DownWaitsForRunsUnlessTold) {
  ASSERT_EQ(Start().exit_code, 0);
  Client client(address());
  RunResult result;
  std::thread run([&] { result = client.Run(Bash("sleep 2; echo done")); });
  ASSERT_TRUE(WaitUntil(
      [&] {
        v1::GetServerInfoResponse info;
        return client.Info(&info).ok() && info.admission().running() == 1;
      },
      absl::Seconds(10)));
  EXPECT_EQ(Sandglass("down").text, "sandglassd is down\n");
  run.join();
  EXPECT_EQ(result.response.stdout().data(), "done\n");
  ExpectNothingLeft();
}

// What another account has put there is no word of ours: a number in it may be
// any process's.
TEST_F(Up, WhatAnotherAccountWroteIsNotBelieved) {
  fs::create_directories(state() + "-up");
  client::SubprocessOptions options;
  options.program = "/bin/sleep";
  options.args = {"600"};
  client::Subprocess victim(options);
  const std::vector<Process> victims = ProcessTree(::getpid());
  ASSERT_FALSE(victims.empty());
  for (const Process& process : victims) {
    if (process.pid == ::getpid()) continue;
    std::ofstream(state() + "-up/daemon")
        << process.pid << " " << process.start_ticks;
  }
  ASSERT_EQ(::chown((state() + "-up").c_str(), 65534, 65534), 0);
  for (const char* command : {"down", "down --now", "up"}) {
    const Result result = Sandglass(command);
    EXPECT_EQ(result.exit_code, 125) << command;
    EXPECT_THAT(result.text, HasSubstr("isn't yours")) << command;
  }
  for (const Process& process : victims) EXPECT_TRUE(IsAlive(process));
}

TEST_F(Up, SomebodyElsesDaemonIsLeftAlone) {
  ASSERT_EQ(Start().exit_code, 0);
  const std::string record = ReadFile(state() + "-up/daemon");
  fs::remove(state() + "-up/daemon");
  const Result down = Sandglass("down");
  EXPECT_EQ(down.exit_code, 125);
  EXPECT_THAT(down.text, HasSubstr("wasn't started by `sandglass up`"));
  EXPECT_THAT(Client(address()).Run(Bash(":")), OutcomeIs(v1::OUTCOME_OK));
  std::ofstream(state() + "-up/daemon") << record;
}

}  // namespace
}  // namespace sandglass::testing
