// Each system call that takes something which may have run out fails once, in
// each of the daemon's processes, while one caller works. That caller gets an
// answer, and the session of another goes on.
//
// A sample of all that could be tried takes a minute or two. With
// SANDGLASS_ALL_FAULTS=1 all of it is, which takes hours.
#include <sys/syscall.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/security/host/fault_injector.h"
#include "tests/support/calls/execs.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

struct Call {
  int number;
  const char* name;
};
constexpr Call kCalls[] = {
    {SYS_recvmsg, "recvmsg"},       {SYS_sendmsg, "sendmsg"},
    {SYS_openat, "openat"},         {SYS_openat2, "openat2"},
    {SYS_pidfd_open, "pidfd_open"}, {SYS_mount, "mount"},
    {SYS_open_tree, "open_tree"},   {SYS_move_mount, "move_mount"},
    {SYS_fsopen, "fsopen"},         {SYS_clone3, "clone3"},
    {SYS_clone, "clone"},           {SYS_mkdirat, "mkdirat"},
    {SYS_socket, "socket"},         {SYS_socketpair, "socketpair"},
    {SYS_eventfd2, "eventfd2"},     {SYS_epoll_create1, "epoll_create1"},
    {SYS_epoll_ctl, "epoll_ctl"},   {SYS_poll, "poll"},
    {SYS_pipe2, "pipe2"},           {SYS_memfd_create, "memfd_create"},
    {SYS_signalfd4, "signalfd4"},   {SYS_setns, "setns"},
    {SYS_unshare, "unshare"},       {SYS_dup3, "dup3"},
    {SYS_fcntl, "fcntl"},
};
constexpr int kErrors[] = {EMFILE, ENFILE, ENOMEM, ENOSPC, EAGAIN};
constexpr const char* kProcesses[] = {"sandglassd", "sandglass-spawner",
                                      "sandglass-init", "sandglass-zygote"};

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// A zygote's title says what it is, a spawner's and an init's name. (The path
// of a spawner's program leads nowhere outside its yard.)
bool IsOf(const std::string& process, pid_t server, pid_t thread) {
  const std::string proc = absl::StrCat("/proc/", thread, "/");
  if (process == "sandglassd") {
    return access(absl::StrCat("/proc/", server, "/task/", thread).c_str(),
                  F_OK) == 0;
  }
  const std::string name = FirstLine(proc + "comm");
  if (process == "sandglass-init") return name == "sandglass-init";
  if (process == "sandglass-zygote") {
    return absl::StartsWith(FirstLine(proc + "cmdline"), process);
  }
  // The kernel keeps fifteen letters.
  return name == process.substr(0, 15);
}

bool Everything() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets it
  const char* all = std::getenv("SANDGLASS_ALL_FAULTS");
  return all != nullptr && std::string(all) == "1";
}

class Faults : public OwnDaemonTest {
 protected:
  // Started by a thread that is asked for its calls, so that the daemon is, and
  // not all of the test.
  void SetUp() override {
    std::vector<int> numbers;
    for (const Call& call : kCalls) numbers.push_back(call.number);
    std::thread([&] {
      injector_ = std::make_unique<FaultInjector>(numbers);
      if (!injector_->ok()) return;
      StartDaemon({.config = R"({"sessions": {"max": 200}})"});
    }).join();
    ASSERT_TRUE(injector_->ok()) << "the kernel lets nobody be asked";
    ASSERT_NE(daemon_, nullptr);
    // One that isn't asked.
    victim_ = std::make_unique<Client>(daemon().address());
    execs_ = v1::ExecService::NewStub(grpc::CreateChannel(
        daemon().address(), grpc::InsecureChannelCredentials()));
    // Until zygotes serve.
    ASSERT_TRUE(WaitUntil([&] { return victim_->Run(Python("1")).status.ok(); },
                          absl::Seconds(30)));
    witness_ = std::make_unique<TestSession>(*victim_);
    ASSERT_THAT(witness_->status(), IsOk());
    ASSERT_THAT(witness_->Run("x = 41"), OutcomeIs(v1::OUTCOME_OK));
    spawners_ = Spawners();
    ASSERT_FALSE(spawners_.empty());
  }
  void TearDown() override {
    witness_.reset();
    OwnDaemonTest::TearDown();
    daemon_.reset();
    injector_.reset();
  }

  std::set<pid_t> Spawners() const {
    std::set<pid_t> pids;
    for (const Process& process : daemon_->Processes()) {
      // A spawner's child has its name for a moment.
      const auto status = StatusOf(process.pid);
      const auto parent = status.find("PPid");
      if (parent != status.end() &&
          std::stoi(parent->second) == daemon_->pid() &&
          IsOf("sandglass-spawner", daemon_->pid(), process.pid)) {
        pids.insert(process.pid);
      }
    }
    return pids;
  }

  // What one caller does; the code of each call is kept.
  void Work() {
    Note("run", victim_->Run(Python("print(1)")).status);
    Note("bash", victim_->Run(Bash("echo 1")).status);
    TestSession session(*victim_);
    Note("session", session.status());
    if (!session.status().ok()) return;
    Note("cell", session.Run("1").status);
    Note("exec", Execute(*execs_, Command(session.id(), "echo 1")).status);
    Note("context", session.Run("2", "other").status);
  }
  void Note(const char* what, const grpc::Status& status) {
    switch (status.error_code()) {
      case grpc::StatusCode::OK:
      case grpc::StatusCode::RESOURCE_EXHAUSTED:
      case grpc::StatusCode::UNAVAILABLE:
      case grpc::StatusCode::NOT_FOUND:  // the session died with its jail
        return;
      case grpc::StatusCode::INTERNAL:
        // What an init was refused for want of room is told as that.
        EXPECT_FALSE(
            process_ == "sandglass-init" &&
            (absl::StrContains(status.error_message(), "set-up failed") ||
             absl::StrContains(status.error_message(), "not be started")))
            << fault_ << ": " << what << ": " << status.error_message();
        ++internal_;
        std::cerr << fault_ << ": " << what << ": " << status.error_message()
                  << "\n";
        return;
      case grpc::StatusCode::INVALID_ARGUMENT:
      case grpc::StatusCode::FAILED_PRECONDITION:
        // As of files that don't fit into the workspace.
        if (error_ == ENOSPC) return;
        [[fallthrough]];
      default:
        ADD_FAILURE() << fault_ << ": " << what << " answered "
                      << status.error_code() << ": " << status.error_message();
    }
  }

  // Does one call that was to fail come at all? Then the rest must stand.
  bool Try(const std::string& process, const Call& call, int error, int nth) {
    fault_ = absl::StrCat(process, ": ", call.name, " ", nth, " fails with ",
                          strerrorname_np(error));
    process_ = process;
    error_ = error;
    injector_->Arm(call.number, error, nth,
                   [&process, server = daemon().pid()](pid_t thread) {
                     return IsOf(process, server, thread);
                   });
    Work();
    const bool failed = injector_->Disarm() >= nth;
    ++tried_;
    if (failed) ++failed_[process];
    Check();
    return failed;
  }
  void Check() {
    ASSERT_FALSE(daemon().Wait(absl::ZeroDuration()).has_value())
        << fault_ << ": the daemon ended";
    ASSERT_EQ(Spawners(), spawners_) << fault_ << ": a spawner ended";
    const RunResult witness = witness_->Run("x + 1");
    ASSERT_THAT(witness, IsOk()) << fault_;
    ASSERT_EQ(ValueOf(witness.response), "42") << fault_;
    ASSERT_TRUE(WaitUntil([&] { return victim_->Run(Python("1")).status.ok(); },
                          absl::Seconds(30)))
        << fault_ << ": no run works any more";
  }

  std::unique_ptr<FaultInjector> injector_;
  std::unique_ptr<Client> victim_;
  std::unique_ptr<v1::ExecService::Stub> execs_;
  std::unique_ptr<TestSession> witness_;
  std::set<pid_t> spawners_;
  std::string fault_, process_;
  int error_ = 0;
  int tried_ = 0, internal_ = 0;
  std::map<std::string, int> failed_;  // by process
};

TEST_F(Faults, FaultsOfOneCallLeaveOthersAlone) {
  const absl::Time end = absl::Now() + absl::Seconds(100);
  constexpr int kMaxSampled = 12;
  constexpr int kMax = 400;
  size_t turn = 0;
  for (const char* process : kProcesses) {
    for (const Call& call : kCalls) {
      if (Everything()) {
        for (const int error : kErrors) {
          for (int nth = 1; nth <= kMax; ++nth) {
            if (!Try(process, call, error, nth)) break;
            if (HasFatalFailure()) return;
          }
        }
        continue;
      }
      // The first, and ever further apart; one error after the other.
      for (int nth = 1; nth <= kMaxSampled; nth = 2 * nth + 1) {
        if (absl::Now() > end) break;
        const int error = kErrors[turn++ % std::size(kErrors)];
        if (!Try(process, call, error, nth)) break;
        if (HasFatalFailure()) return;
      }
    }
  }
  std::cerr << tried_ << " tried, " << internal_ << " answers were INTERNAL\n";
  int all = 0;
  for (const char* process : kProcesses) {
    std::cerr << process << ": " << failed_[process] << " failed\n";
    EXPECT_GE(failed_[process], 3) << process;
    all += failed_[process];
  }
  EXPECT_GT(all, 30);
}

}  // namespace
}  // namespace sandglass::testing
