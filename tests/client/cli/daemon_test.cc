// info, languages, ps and kill, and what is said when there is no daemon.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "client/connection/connect.h"
#include "client/connection/error_text.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using testing::TempDir;
using testing::WriteFile;

using google::protobuf::util::JsonStringToMessage;
using ::testing::HasSubstr;
using ::testing::Not;

SubprocessResult RunAt(const std::string& address, const std::string& command) {
  SubprocessOptions options;
  options.args = {command, "--address", address};
  return RunProcess(options);
}

// Makes a socket file; listening when `backlog` is not negative.
UniqueFd MakeSocket(const std::string& path, int backlog) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                 sizeof(address)),
            0);
  if (backlog >= 0) {
    EXPECT_EQ(listen(fd.get(), backlog), 0);
  }
  return fd;
}

TEST(CliNoDaemonTest, AMissingSocketIsOneLineAtOnce) {
  const TempDir dir;
  const std::string address = "unix:" + dir.Path("s");
  const auto start = std::chrono::steady_clock::now();
  for (const char* command : {"info", "languages", "ps"}) {
    const SubprocessResult result = RunAt(address, command);
    EXPECT_EQ(result.exit_code, 125);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err,
              absl::StrCat("sandglass: no daemon at ", address,
                           " (no such socket); start one with: sudo sandglassd "
                           "--listen ",
                           address,
                           " (from the source tree: sudo "
                           "./build/bin/sandglassd --listen ",
                           address, ")\n"));
  }
  // Loosely: nobody waited for a backoff.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

// The kernel takes connections for a daemon that is stopped; only nobody reads.
TEST(CliNoDaemonTest, ADaemonThatHangsIsFoundWithoutADeadline) {
  int ends[2];
  ASSERT_EQ(
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
      0);
  const UniqueFd silent(ends[1]);
  const auto channel =
      MakeChannel(UniqueFd(ends[0]), {}, absl::Milliseconds(200));
  const auto stub = v1::SandboxService::NewStub(channel);
  grpc::ClientContext context;
  v1::RunCodeResponse response;
  const grpc::Status status = stub->RunCode(&context, {}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(RpcErrorText(status, "unix:/a"),
              HasSubstr("the daemon at unix:/a does not answer"));
}

TEST(CliNoDaemonTest, RunAndKillReportAMissingDaemonToo) {
  const TempDir dir;
  SubprocessOptions options;
  options.env = {"SANDGLASS_ADDRESS=unix:" + dir.Path("s")};
  options.args = {"run", "-c", "x"};
  EXPECT_THAT(RunProcess(options).err, HasSubstr("(no such socket); start"));
  options.args = {"kill", "r-1"};
  const SubprocessResult result = RunProcess(options);
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err, HasSubstr("(no such socket); start"));
}

TEST(CliNoDaemonTest, AStaleSocketIsRefused) {
  const TempDir dir;
  const UniqueFd stale = MakeSocket(dir.Path("s"), -1);
  const SubprocessResult result = RunAt("unix:" + dir.Path("s"), "info");
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err, HasSubstr("connection refused: the socket is there "
                                    "but nobody listens; a daemon that is "
                                    "ending takes no new connections); start "
                                    "one with"));
}

TEST(CliNoDaemonTest, AFileThatIsNoSocketIsNamed) {
  const TempDir dir;
  WriteFile(dir.Path("s"), "");
  EXPECT_THAT(RunAt("unix:" + dir.Path("s"), "info").err,
              HasSubstr("(that is not a socket)"));
}

TEST(CliNoDaemonTest, AClosedPortIsRefused) {
  // Port 1 is privileged and nothing of ours listens there.
  const SubprocessResult result = RunAt("127.0.0.1:1", "info");
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(
      result.err,
      HasSubstr(
          "(connection refused: nobody listens on that port); start one with"));
}

TEST(CliNoDaemonTest, ADaemonThatAcceptsNobodyIsGivenUpOn) {
  const TempDir dir;
  const UniqueFd listener = MakeSocket(dir.Path("s"), 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, dir.Path("s").c_str(),
               sizeof(address.sun_path) - 1);
  const UniqueFd filler(
      socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ASSERT_EQ(connect(filler.get(), reinterpret_cast<const sockaddr*>(&address),
                    sizeof(address)),
            0);
  const SubprocessResult result = RunAt("unix:" + dir.Path("s"), "info");
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err, HasSubstr("did not take the connection within 2s"));
}

// Asks for `info` as somebody who may not connect; "UID" for its number.
std::string AskDenied(FakeDaemon& daemon) {
  chmod(daemon.directory().path().c_str(), 0755);
  chmod(daemon.socket_path().c_str(), 0600);
  SubprocessOptions options = daemon.Client({"info"});
  std::string uid = std::to_string(geteuid());
  if (geteuid() == 0) {
    // Root may connect to anything: give the binary to nobody, from a place
    // that nobody can reach.
    const std::string binary = daemon.directory().Path("sandglass");
    std::filesystem::copy_file(SANDGLASS_BINARY, binary);
    chmod(binary.c_str(), 0755);
    options.program = "/usr/bin/setpriv";
    options.args = {"--reuid=65534", "--regid=65534", "--clear-groups", binary,
                    "info"};
    uid = "65534";
  } else {
    chmod(daemon.socket_path().c_str(), 0);
  }
  const SubprocessResult result = RunProcess(options);
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1);
  return absl::StrReplaceAll(result.err,
                             {{absl::StrCat("uid ", uid), "uid UID"}});
}

TEST(CliNoDaemonTest, DeniedPermissionNamesUidAndGroup) {
  FakeDaemon daemon;
  EXPECT_THAT(AskDenied(daemon),
              HasSubstr("permission denied at " + daemon.address() +
                        ": you are uid UID; the socket is group "));
}

TEST(CliNoDaemonTest, AGroupWithoutANameCannotBeJoined) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give the socket away";
  FakeDaemon daemon;
  ASSERT_EQ(chown(daemon.socket_path().c_str(), 0, 1879048191), 0);
  const std::string text = AskDenied(daemon);
  EXPECT_THAT(text, HasSubstr("you are uid UID and the socket is for root "
                              "only; use sudo, or start the daemon with "
                              "--config FILE that has {\"socket\": "));
  EXPECT_EQ(text.find("usermod"), std::string::npos);
}

// As packages have it.
TEST(CliNoDaemonTest, WhereAUnitIsInstalledItIsToBeStarted) {
  namespace fs = std::filesystem;
  const TempDir root;
  const Address usual = *ParseAddress(kDefaultAddress);
  const Address own = *ParseAddress("unix:/tmp/other.sock");
  EXPECT_THAT(HowToStart(usual, root.path()),
              HasSubstr("start one with: sandglass up"));
  fs::create_directories(root.Path("run/systemd/system"));
  fs::create_directories(root.Path("usr/lib/systemd/system"));
  EXPECT_THAT(HowToStart(usual, root.path()),
              HasSubstr("start one with: sandglass up"));
  testing::WriteFile(root.Path("usr/lib/systemd/system/sandglassd.service"),
                     "");
  EXPECT_THAT(HowToStart(usual, root.path()),
              HasSubstr("sudo systemctl start sandglassd"));
  EXPECT_THAT(HowToStart(own, root.path()),
              HasSubstr("sudo sandglassd --listen unix:/tmp/other.sock"));
}

TEST(CliNoDaemonTest, WhatSudoDropsIsSaid) {
  const Address usual = *ParseAddress(kDefaultAddress);
  const char* words = "sudo drops it";
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  unsetenv("SUDO_UID");
  EXPECT_THAT(HowToStart(usual), Not(HasSubstr(words)));
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  setenv("SUDO_UID", "1000", 1);
  EXPECT_THAT(HowToStart(usual), HasSubstr(words));
  EXPECT_THAT(HowToStart(*ParseAddress("unix:/tmp/other.sock")),
              Not(HasSubstr(words)));
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  unsetenv("SUDO_UID");
}

TEST(CliNoDaemonTest, ABadAddressIsAUsageError) {
  const SubprocessResult result = RunAt("10.1.2.3", "info");
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err, HasSubstr("'10.1.2.3' is no address: write unix:"));
}

TEST(CliUsageTest, UsageErrorsExitWith125) {
  SubprocessOptions options;
  options.args = {"run", "--no-such-flag"};
  const SubprocessResult result = RunProcess(options);
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("--no-such-flag"));
  options.args = {"--help"};
  EXPECT_EQ(RunProcess(options).exit_code, 0);
}

TEST(CliInfoTest, PrintsTextAndJson) {
  FakeDaemon daemon;
  EXPECT_THAT(daemon.RunClient({"info"}).out, HasSubstr("sandglassd 0.1.0"));
  EXPECT_THAT(daemon.RunClient({"languages"}).out, HasSubstr("3.11.2"));
  for (const char* command : {"info", "languages"}) {
    const SubprocessResult result = daemon.RunClient({command, "--json"});
    EXPECT_EQ(result.exit_code, 0);
    v1::GetServerInfoResponse parsed;
    ASSERT_TRUE(JsonStringToMessage(result.out, &parsed).ok());
    EXPECT_EQ(parsed.DebugString(), FakeInfo().DebugString());
  }
}

// Six finished runs over three pages, and one that runs.
void ListSevenRuns(FakeDaemon& daemon) {
  daemon.on_list = [](const v1::ListRunsRequest& request,
                      v1::ListRunsResponse& response) {
    const bool active = request.states_size() == 2;
    if (request.states_size() != 1 && request.page_token().empty()) {
      v1::RunSummary& run = *response.add_runs();
      run.set_run_id("r-live");
      run.set_state(v1::RUN_STATE_RUNNING);
    }
    if (active) return grpc::Status::OK;
    const int page =
        request.page_token().empty() ? 0 : std::stoi(request.page_token());
    for (int i = 0; i < 2; ++i) {
      v1::RunSummary& run = *response.add_runs();
      run.set_run_id("r-" + std::to_string(page * 2 + i));
      run.set_state(v1::RUN_STATE_FINISHED);
      run.set_outcome(v1::OUTCOME_OK);
    }
    if (page < 2) response.set_next_page_token(std::to_string(page + 1));
    return grpc::Status::OK;
  };
}

TEST(CliPsTest, ShowsActiveAndRecentOrAll) {
  FakeDaemon daemon;
  ListSevenRuns(daemon);
  const std::string some = daemon.RunClient({"ps"}).out;
  EXPECT_THAT(some, HasSubstr("r-live  running"));
  EXPECT_THAT(some, HasSubstr("r-1 "));
  EXPECT_THAT(some, Not(HasSubstr("r-2 ")));
  const std::string all = daemon.RunClient({"ps", "--all"}).out;
  for (const char* id : {"r-live", "r-0", "r-3", "r-5"}) {
    EXPECT_THAT(all, HasSubstr(id));
  }
  v1::ListRunsResponse parsed;
  ASSERT_TRUE(
      JsonStringToMessage(daemon.RunClient({"ps", "-a", "--json"}).out, &parsed)
          .ok());
  EXPECT_EQ(parsed.runs_size(), 7);
}

TEST(CliKillTest, TellsWhatBecameOfTheRun) {
  FakeDaemon daemon;
  daemon.on_cancel = [](const v1::CancelRunRequest& request,
                        v1::CancelRunResponse& response) {
    if (request.run_id() == "r-none") {
      return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such run");
    }
    response.mutable_run()->set_run_id(request.run_id());
    response.mutable_run()->set_state(request.run_id() == "r-1"
                                          ? v1::RUN_STATE_RUNNING
                                          : v1::RUN_STATE_FINISHED);
    if (request.run_id() == "r-done") {
      response.mutable_run()->set_outcome(v1::OUTCOME_OK);
    }
    if (request.run_id() == "r-killed") {
      response.mutable_run()->set_outcome(v1::OUTCOME_CANCELLED);
    }
    return grpc::Status::OK;
  };
  SubprocessResult result = daemon.RunClient({"kill", "r-1"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "run r-1 is told to stop\n");
  result = daemon.RunClient({"kill", "r-done"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "run r-done had ended already: OK\n");
  result = daemon.RunClient({"kill", "r-killed"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "run r-killed has ended: CANCELLED\n");
  result = daemon.RunClient({"kill", "r-none"});
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_EQ(result.err,
            "sandglass: there is no run 'r-none' (sandglass ps --all lists "
            "yours)\n");
}

}  // namespace
}  // namespace sandglass::client
