#include "tests/support/daemon/daemon_fixture.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "sandbox/wire/jail_layout.h"
#include "tests/support/host/process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

constexpr absl::Duration kSettleTimeout = absl::Seconds(20);

// What tests' daemons keep ready unless they say otherwise: of each of a few
// kinds four jails, one or two that are being made, and the spawner's spares;
// and up to eight in which node waits, and one for each of Java's phases.
constexpr size_t kMaxIdleJails = 5 * (4 + 2 + 2) + 8 + 2;

// Its program came or not: the number of jails tells.
bool WasPrestarted(pid_t pid) {
  const std::string command = CommandOf(pid);
  return absl::StrContains(command, "--wait") ||
         absl::StrContains(command, "sandglass.Launch");
}

// One that still loads its modules has its interpreter's name.
bool IsZygote(pid_t pid) {
  const std::string command = CommandOf(pid);
  return absl::StartsWith(command, "sandglass-zygote") ||
         absl::StrContains(command, sandbox::kZygoteScript) ||
         absl::StrContains(command, sandbox::kZygoteLibrary);
}

// What no idle daemon has: processes that were not there before the test, but
// for those of jails that wait for their runs, and zygotes, which come late or
// anew.
std::vector<Process> Strays(const Daemon& daemon,
                            const std::vector<Process>& before) {
  std::vector<Process> strays;
  std::vector<Process> idle;
  size_t inits = 0;
  for (const Process& process : daemon.Processes()) {
    const std::string name = NameOf(process.pid);
    if (name == "sandglass-init" || name == "sandglass-idle" ||
        WasPrestarted(process.pid)) {
      idle.push_back(process);
      if (name == "sandglass-init") ++inits;
    } else if (!IsZygote(process.pid) && std::find(before.begin(), before.end(),
                                                   process) == before.end()) {
      strays.push_back(process);
    }
  }
  if (inits > kMaxIdleJails) {
    strays.insert(strays.end(), idle.begin(), idle.end());
  }
  return strays;
}

}  // namespace

std::unique_ptr<Daemon> DaemonTest::daemon_;
absl::Status DaemonTest::start_status_;

void DaemonTest::StartSuite(const DaemonOptions& options) {
  // A failure is kept for SetUp: from here gtest would skip the suite's tests,
  // and ctest would count them as skipped and not as failed.
  auto daemon = Daemon::Start(options);
  start_status_ = daemon.status();
  if (daemon.ok()) daemon_ = *std::move(daemon);
}

void DaemonTest::TearDownTestSuite() {
  if (daemon_ == nullptr) return;
  const absl::Status status = daemon_->Stop();
  daemon_.reset();
  EXPECT_TRUE(status.ok()) << status.message();
}

void DaemonTest::SetUp() {
  ASSERT_TRUE(start_status_.ok()) << start_status_.message();
  before_ = daemon_->Processes();
}

void DaemonTest::TearDown() {
  if (daemon_ == nullptr) return;
  if (daemon_->Wait(absl::ZeroDuration())) {
    ADD_FAILURE() << "the daemon ended in this test";
  } else {
    daemon_->Remember();
    v1::ListRunsRequest request;
    request.add_states(v1::RUN_STATE_QUEUED);
    request.add_states(v1::RUN_STATE_RUNNING);
    v1::ListRunsResponse runs;
    grpc::Status status;
    EXPECT_TRUE(WaitUntil(
        [&] {
          status = client().List(request, &runs);
          return status.ok() && runs.runs().empty();
        },
        kSettleTimeout))
        << "runs are left: " << Describe(status) << runs.ShortDebugString();
    std::vector<Process> strays;
    EXPECT_TRUE(WaitUntil(
        [&] {
          strays = Strays(*daemon_, before_);
          return strays.empty();
        },
        kSettleTimeout))
        << "processes are left: " << Describe(strays);
  }
  if (HasFailure()) {
    std::cerr << "--- end of the daemon's log:\n" << daemon_->LogTail() << "\n";
  }
}

void OwnDaemonTest::StartDaemon(const DaemonOptions& options) {
  auto daemon = Daemon::Start(options);
  ASSERT_TRUE(daemon.ok()) << daemon.status().message();
  daemon_ = *std::move(daemon);
}

void OwnDaemonTest::StopDaemon() {
  const absl::Status status = daemon_->Stop();
  EXPECT_TRUE(status.ok()) << status.message();
}

void OwnDaemonTest::TearDown() {
  if (daemon_ != nullptr && HasFailure()) {
    std::cerr << "--- end of the daemon's log:\n" << daemon_->LogTail() << "\n";
  }
}

ChangedPolicyTest::ChangedPolicyTest() : policy_(MakeTestDirectory()) {}

ChangedPolicyTest::~ChangedPolicyTest() {
  std::error_code ignored;
  std::filesystem::remove_all(policy_, ignored);
}

void ChangedPolicyTest::StartWith(const std::string& file,
                                  const std::string& text,
                                  const std::string& other) {
  std::filesystem::copy(std::string(SANDGLASS_SOURCE_DIR) + "/policy/data",
                        policy_,
                        std::filesystem::copy_options::recursive |
                            std::filesystem::copy_options::overwrite_existing);
  const std::string path = absl::StrCat(policy_, "/", file);
  const std::string before = ReadFile(path);
  const std::string after = absl::StrReplaceAll(before, {{text, other}});
  ASSERT_NE(before, after) << file << " has no " << text;
  std::ofstream(path) << after;
  ASSERT_NO_FATAL_FAILURE(
      StartDaemon({.extra_arguments = {"--policy-dir", policy_}}));
}

}  // namespace sandglass::testing
