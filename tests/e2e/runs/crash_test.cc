// The daemon or its spawner dies, is told to end, or can't start.

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "sandglass/v1/operator.pb.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/host/ancestor.h"
#include "tests/support/slowdown.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kSettle = absl::Seconds(10);
// A helper that is asked for a sign of life every few seconds.
constexpr absl::Duration kHangShows = absl::Seconds(60);
// The promise for --supervise.
constexpr absl::Duration kHealthyAgain = absl::Seconds(5);
// Of each kind, on machines with any number of processors.
constexpr char kOneSpawner[] = R"({"pool": {"spawners": 1}})";

class Crash : public OwnDaemonTest {
 protected:
  static v1::RunCodeRequest Endless(const std::string& marker) {
    v1::RunCodeRequest request = Bash(
        "trap '' TERM HUP; sleep 300 & setsid sleep 300 & echo ready; wait");
    request.add_args(marker);
    return request;
  }

  static std::string Join(const Leftovers& leftovers) {
    return absl::StrJoin(leftovers.all, "\n");
  }

  // Processes of this name among the daemon's.
  std::vector<Process> Named(const std::string& executable) {
    std::vector<Process> found;
    for (const Process& process : daemon().Processes()) {
      std::error_code error;
      const auto path = std::filesystem::read_symlink(
          absl::StrCat("/proc/", process.pid, "/exe"), error);
      const std::string command = CommandOf(process.pid);
      // These have the daemon's executable, too, and aren't what is meant.
      if (command.find("sandglass-policy-reader") == 0 ||
          command.find("sandglass-unpacker") == 0) {
        continue;
      }
      if (path.filename() == executable ||
          command.find(executable) != std::string::npos) {
        found.push_back(process);
      }
    }
    return found;
  }

  // The helper that has this title; 0 when there is none.
  pid_t Helper(const std::string& title) {
    for (const Process& process : daemon().Processes()) {
      if (CommandOf(process.pid).find(title) == 0) return process.pid;
    }
    return 0;
  }
  pid_t PolicyReader() { return Helper("sandglass-policy-reader"); }

  bool ServingAgain() {
    const absl::Time start = absl::Now();
    const bool serving =
        WaitUntil([this] { return client().Serving(); }, kSettle * 2);
    const absl::Duration took = absl::Now() - start;
    EXPECT_LT(took, kHealthyAgain * Slowdown()) << "promised within 5 s";
    return serving;
  }
};

TEST_F(Crash, AKilledDaemonLeavesNoProcessAndTheNextOneSweepsTheRest) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon());
  const std::string marker = MakeMarker();
  StreamCall call(client().stub(), Endless(marker));
  ASSERT_TRUE(call.ReadUntil("ready"));
  ASSERT_FALSE(WaitForMarked(daemon(), marker).empty());
  daemon().Remember();
  const std::vector<std::string> groups = daemon().groups();
  EXPECT_FALSE(groups.empty());

  daemon().Signal(SIGKILL);
  ASSERT_TRUE(daemon().Wait(kSettle).has_value());
  EXPECT_THAT(call.Finish(), StatusIs(grpc::StatusCode::UNAVAILABLE));
  const Leftovers processes =
      daemon().FindLeftovers(kSettle, /*expect_no_groups=*/false);
  EXPECT_TRUE(processes.all.empty()) << Join(processes);

  auto next = Daemon::Start({.directory = daemon().directory()});
  ASSERT_TRUE(next.ok()) << next.status().message();
  EXPECT_THAT((*next)->client().Run(Bash("echo again")),
              OutcomeIs(v1::OUTCOME_OK));
  const absl::Status stopped = (*next)->Stop();
  EXPECT_TRUE(stopped.ok()) << stopped.message();
  const Leftovers rest = daemon().FindLeftovers(kSettle);
  EXPECT_TRUE(rest.all.empty()) << Join(rest);
}

TEST_F(Crash, AKilledSpawnerEndsTheDaemonAndEverything) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({.config = kOneSpawner}));
  StreamCall call(client().stub(), Endless(MakeMarker()));
  ASSERT_TRUE(call.ReadUntil("ready"));
  daemon().Remember();
  const std::vector<Process> spawners = Named("sandglass-spawner");
  ASSERT_FALSE(spawners.empty());
  ASSERT_TRUE(Kill(spawners.front(), SIGKILL));
  const std::optional<int> status = daemon().Wait(kSettle);
  ASSERT_TRUE(status.has_value()) << "the daemon goes on without a spawner";
  EXPECT_FALSE(WIFEXITED(*status) && WEXITSTATUS(*status) == 0)
      << "it must end non-zero, for the supervisor";
  call.Finish();
  const Leftovers processes =
      daemon().FindLeftovers(kSettle, /*expect_no_groups=*/false);
  EXPECT_TRUE(processes.all.empty()) << Join(processes);
  EXPECT_TRUE(daemon().Sweep().ok());
  const Leftovers rest = daemon().FindLeftovers(kSettle);
  EXPECT_TRUE(rest.all.empty()) << Join(rest);
}

// What was in its yard is lost, and nothing else is.
TEST_F(Crash, ASpawnerThatHasOthersOfItsKindIsDoneWithout) {
  ASSERT_NO_FATAL_FAILURE(
      StartDaemon({.config = R"({"pool": {"spawners": 2}})"}));
  const std::string marker = MakeMarker();
  StreamCall lost(client().stub(), Endless(marker));
  ASSERT_TRUE(lost.ReadUntil("ready"));
  const std::vector<Process> its = WaitForMarked(daemon(), marker);
  ASSERT_FALSE(its.empty());
  const auto spawner = AncestorNamed(its[0], "sandglass-spawn");
  ASSERT_TRUE(spawner.has_value());
  daemon().Remember();
  ASSERT_TRUE(Kill(*spawner, SIGKILL));
  // A run that begins while the kernel still ends the yard's processes may be
  // one of them.
  ASSERT_TRUE(WaitUntil([&] { return !IsAlive(its[0]); }, kSettle));
  // At once, while the daemon finds out, and then for good.
  for (int i = 0; i < 20; ++i) {
    ASSERT_THAT(client().Run(Bash("echo on")), OutcomeIs(v1::OUTCOME_OK));
    ASSERT_THAT(client().Run(Python("print(1)")), OutcomeIs(v1::OUTCOME_OK));
  }
  ASSERT_THAT(lost.Finish(), IsOk());
  ASSERT_TRUE(lost.result().has_value());
  EXPECT_EQ(lost.result()->outcome(), v1::OUTCOME_JAIL_FAILED);
  EXPECT_THAT(daemon().LogTail(1000), ::testing::HasSubstr("spawner_lost"));
  EXPECT_TRUE(IsAlive(daemon().process()));
  EXPECT_TRUE(client().Serving());
  StopDaemon();
}

// As a service manager starts it whose socket outlives the service.
TEST_F(Crash, ADaemonListensOnTheSocketThatItIsGiven) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon());
  daemon().Remember();
  daemon().Signal(SIGKILL);
  ASSERT_TRUE(daemon().Wait(kSettle).has_value());
  const os::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  daemon().socket_path().copy(address.sun_path, sizeof(address.sun_path) - 1);
  fs::remove(daemon().socket_path());
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address),
                   sizeof(address)),
            0);
  // It is of the same user as the daemon, which may be an ordinary one.
  struct stat directory {};
  ASSERT_EQ(::stat(fs::path(daemon().socket_path()).parent_path().c_str(),
                   &directory),
            0);
  ASSERT_EQ(::lchown(daemon().socket_path().c_str(), directory.st_uid,
                     directory.st_gid),
            0);
  ASSERT_EQ(::listen(socket.get(), 16), 0);
  auto next = Daemon::Start(
      {.directory = daemon().directory(), .listener = socket.get()});
  ASSERT_TRUE(next.ok()) << next.status().message();
  EXPECT_THAT((*next)->client().Run(Bash("echo here")),
              OutcomeIs(v1::OUTCOME_OK));
  (*next)->Signal(SIGTERM);
  EXPECT_EQ((*next)->Wait(kSettle), 0);
  EXPECT_TRUE((*next)->Sweep().ok());
  EXPECT_TRUE(fs::exists(daemon().socket_path())) << "it is the manager's";
  fs::remove(daemon().socket_path());
}

// Whatever the process, the log has one format.
void ExpectJsonLines(const std::string& log) {
  for (const absl::string_view line :
       absl::StrSplit(log, '\n', absl::SkipEmpty())) {
    EXPECT_TRUE(nlohmann::json::parse(line, nullptr, false).is_object())
        << line;
  }
}

TEST_F(Crash, UnderSuperviseAKilledServerIsHealthyAgain) {
  ASSERT_NO_FATAL_FAILURE(
      StartDaemon({.config = R"({"log": {"format": "json"}})",
                   .extra_arguments = {"--supervise"}}));
  const std::string marker = MakeMarker();
  StreamCall call(client().stub(), Endless(marker));
  ASSERT_TRUE(call.ReadUntil("ready"));
  const std::vector<Process> jail = WaitForMarked(daemon(), marker);
  ASSERT_FALSE(jail.empty());
  daemon().Remember();
  std::vector<Process> servers = Named("sandglassd");
  std::erase(servers, daemon().process());
  ASSERT_EQ(servers.size(), 1U) << Describe(servers);
  ASSERT_TRUE(Kill(servers.front(), SIGKILL));
  ASSERT_TRUE(WaitUntilDead(servers, kSettle));
  call.Finish();
  // Its socket is still there, and so the call waits for the next one.
  EXPECT_THAT(client().Run(Bash("echo meanwhile")), OutcomeIs(v1::OUTCOME_OK));
  EXPECT_TRUE(ServingAgain());
  EXPECT_TRUE(WaitUntilDead(jail, kSettle)) << Describe(jail);
  std::vector<Process> zygotes;
  ASSERT_TRUE(WaitUntil(
      [&] { return !(zygotes = Named("sandglass-zygote")).empty(); }, kSettle));
  ASSERT_TRUE(Kill(zygotes.front(), SIGKILL));
  EXPECT_TRUE(WaitUntil(
      [this] {
        return absl::StrContains(daemon().LogTail(200), "the zygote died");
      },
      kSettle));
  const std::string log = daemon().LogTail(1000);
  EXPECT_THAT(log, ::testing::HasSubstr(R"("event":"daemon_died")"));
  ExpectJsonLines(log);
  StopDaemon();
}

// Its heart stands still; the supervisor gives it half a minute.
TEST_F(Crash, UnderSuperviseAServerThatHangsIsReplaced) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({.extra_arguments = {"--supervise"}}));
  daemon().Remember();
  std::vector<Process> servers = Named("sandglassd");
  std::erase(servers, daemon().process());
  ASSERT_EQ(servers.size(), 1U) << Describe(servers);
  // The first heartbeat comes with the daemon's readiness.
  absl::SleepFor(absl::Seconds(1) * Slowdown());
  ASSERT_TRUE(Kill(servers.front(), SIGSTOP));
  ASSERT_TRUE(WaitUntilDead(servers, absl::Seconds(60) * Slowdown()));
  EXPECT_TRUE(ServingAgain());
  EXPECT_THAT(client().Run(Bash("echo again")), OutcomeIs(v1::OUTCOME_OK));
  StopDaemon();
}

// Nobody in it has the rights to start another.
TEST_F(Crash, UnderSuperviseAKilledHelperIsReplaced) {
  const std::pair<std::string, std::string> helpers[] = {
      {"sandglass-policy-reader", "the process that reads the policy is gone"},
      {"sandglass-unpacker", "the process that unpacks archives is gone"}};
  for (const auto& [title, words] : helpers) {
    ASSERT_NO_FATAL_FAILURE(StartDaemon({.extra_arguments = {"--supervise"}}));
    daemon().Remember();
    std::vector<Process> servers = Named("sandglassd");
    std::erase(servers, daemon().process());
    const pid_t helper = Helper(title);
    ASSERT_NE(helper, 0) << title;
    ASSERT_EQ(::kill(helper, SIGKILL), 0);
    ASSERT_TRUE(WaitUntilDead(servers, kSettle))
        << "the server goes on without its " << title;
    EXPECT_TRUE(ServingAgain());
    EXPECT_NE(Helper(title), 0) << title;
    EXPECT_THAT(daemon().LogTail(200), ::testing::HasSubstr(words));
    StopDaemon();
  }
}

// Its disk may hang: nothing but a reload needs it.
TEST_F(Crash, APolicyReaderThatIsStoppedShowsInTheStatusUntilItGoesOn) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon());
  const pid_t reader = PolicyReader();
  ASSERT_NE(reader, 0);
  const auto helpers_answer = [this] {
    std::string answer;
    v1::GetStatusResponse status;
    if (!client()
             .CallRaw("/sandglass.v1.OperatorService/GetStatus", "", &answer)
             .ok() ||
        !status.ParseFromString(answer)) {
      return false;
    }
    for (const v1::Condition& condition : status.conditions()) {
      if (condition.name() == "helpers") return condition.holds();
    }
    return false;
  };
  EXPECT_TRUE(helpers_answer());
  ASSERT_EQ(::kill(reader, SIGSTOP), 0);
  EXPECT_TRUE(WaitUntil([&] { return !helpers_answer(); }, kHangShows));
  EXPECT_FALSE(client().Serving());
  EXPECT_THAT(client().Run(Bash("echo on")), OutcomeIs(v1::OUTCOME_OK));
  ASSERT_EQ(::kill(reader, SIGCONT), 0);
  EXPECT_TRUE(WaitUntil(helpers_answer, kHangShows));
  StopDaemon();
}

TEST_F(Crash, UnderSuperviseASpawnerOrProxyThatHangsIsReplaced) {
  for (const char* name : {"sandglass-spawner", "sandglass-egress"}) {
    ASSERT_NO_FATAL_FAILURE(StartDaemon({.extra_arguments = {"--supervise"}}));
    daemon().Remember();
    std::vector<Process> servers = Named("sandglassd");
    std::erase(servers, daemon().process());
    const std::vector<Process> helpers = Named(name);
    ASSERT_FALSE(helpers.empty());
    ASSERT_TRUE(Kill(helpers.front(), SIGSTOP));
    ASSERT_TRUE(WaitUntilDead(servers, absl::Seconds(90) * Slowdown()))
        << "the server goes on without its " << name;
    EXPECT_TRUE(WaitUntil([this] { return client().Serving(); }, kSettle * 2));
    EXPECT_TRUE(WaitUntilDead(helpers, kSettle)) << Describe(helpers);
    EXPECT_THAT(client().Run(Bash("echo again")), OutcomeIs(v1::OUTCOME_OK));
    StopDaemon();
  }
}

// By a SIGSTOP, with which it doesn't take the SIGTERM that is passed on.
TEST_F(Crash, UnderSuperviseAServerThatIsStoppedEndsWhenItIsToldTo) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({.extra_arguments = {"--supervise"}}));
  daemon().Remember();
  std::vector<Process> servers = Named("sandglassd");
  std::erase(servers, daemon().process());
  ASSERT_EQ(servers.size(), 1U) << Describe(servers);
  ASSERT_TRUE(Kill(servers.front(), SIGSTOP));
  StopDaemon();
}

TEST_F(Crash, UnderSuperviseAKilledSpawnerIsReplaced) {
  ASSERT_NO_FATAL_FAILURE(
      StartDaemon({.config = kOneSpawner, .extra_arguments = {"--supervise"}}));
  daemon().Remember();
  const std::vector<Process> spawners = Named("sandglass-spawner");
  ASSERT_FALSE(spawners.empty());
  std::vector<Process> servers = Named("sandglassd");
  std::erase(servers, daemon().process());
  ASSERT_TRUE(Kill(spawners.front(), SIGKILL));
  ASSERT_TRUE(WaitUntilDead(servers, kSettle))
      << "the server goes on without its spawner";
  EXPECT_TRUE(ServingAgain());
  EXPECT_THAT(client().Run(Bash("echo again")), OutcomeIs(v1::OUTCOME_OK));
  StopDaemon();
}

TEST_F(Crash, UnderSuperviseAKilledProxyIsReplaced) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({.extra_arguments = {"--supervise"}}));
  daemon().Remember();
  const std::vector<Process> proxies = Named("sandglass-egress");
  ASSERT_EQ(proxies.size(), 1U) << Describe(proxies);
  std::vector<Process> servers = Named("sandglassd");
  std::erase(servers, daemon().process());
  ASSERT_TRUE(Kill(proxies.front(), SIGKILL));
  ASSERT_TRUE(WaitUntilDead(servers, kSettle))
      << "the server goes on without its proxy";
  EXPECT_TRUE(ServingAgain());
  EXPECT_THAT(client().Run(Bash("echo again")), OutcomeIs(v1::OUTCOME_OK));
  StopDaemon();
}

TEST_F(Crash, SigtermLetsRunsFinish) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon());
  StreamCall call(client().stub(), Bash("echo ready; sleep 2; echo finished"));
  ASSERT_TRUE(call.ReadUntil("ready"));
  daemon().Remember();
  daemon().Signal(SIGTERM);
  EXPECT_TRUE(WaitUntil(
      [this] { return !client().Serving("", absl::Milliseconds(200)); },
      absl::Seconds(2)))
      << "health must say that it drains";
  EXPECT_TRUE(call.ReadUntil("finished"));
  EXPECT_THAT(call.Finish(), IsOk());
  const std::optional<int> status = daemon().Wait(kSettle);
  ASSERT_TRUE(status.has_value());
  EXPECT_TRUE(WIFEXITED(*status) && WEXITSTATUS(*status) == 0) << *status;
  EXPECT_TRUE(daemon().Sweep().ok());
  const Leftovers rest = daemon().FindLeftovers(kSettle);
  EXPECT_TRUE(rest.all.empty()) << Join(rest);
}

TEST_F(Crash, ASecondSigtermEndsItAtOnce) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon());
  StreamCall call(client().stub(), Endless(MakeMarker()));
  ASSERT_TRUE(call.ReadUntil("ready"));
  daemon().Remember();
  daemon().Signal(SIGTERM);
  absl::SleepFor(absl::Milliseconds(500));
  EXPECT_FALSE(daemon().Wait(absl::ZeroDuration()).has_value())
      << "it did not drain";
  daemon().Signal(SIGTERM);
  EXPECT_TRUE(daemon().Wait(absl::Seconds(5)).has_value());
  call.Finish();
  if (call.result()) {
    EXPECT_EQ(call.result()->outcome(), v1::OUTCOME_SHUTDOWN);
  }
  EXPECT_TRUE(daemon().Sweep().ok());
  const Leftovers rest = daemon().FindLeftovers(kSettle);
  EXPECT_TRUE(rest.all.empty()) << Join(rest);
}

TEST_F(Crash, ASecondDaemonOnALiveSocketIsRefused) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon());
  // It may look as if it served, since the first one answers.
  auto second = Daemon::Start({.directory = daemon().directory()});
  if (second.ok()) {
    const std::optional<int> status = (*second)->Wait(kSettle);
    ASSERT_TRUE(status.has_value()) << "it runs beside the first";
    EXPECT_FALSE(WIFEXITED(*status) && WEXITSTATUS(*status) == 0);
  }
  EXPECT_THAT(client().Run(Bash("echo first lives")),
              OutcomeIs(v1::OUTCOME_OK));
  StopDaemon();
}

TEST_F(Crash, TwoDaemonsOfDifferentDirectoriesLiveSideBySide) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon());
  auto second = Daemon::Start();
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_THAT((*second)->client().Run(Bash("true")), OutcomeIs(v1::OUTCOME_OK));
  const absl::Status stopped = (*second)->Stop();
  EXPECT_TRUE(stopped.ok()) << stopped.message();
  EXPECT_THAT(client().Run(Bash("true")), OutcomeIs(v1::OUTCOME_OK));
  StopDaemon();
}

}  // namespace
}  // namespace sandglass::testing
