// The file agent's process, with an agent that reads files. Needs root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/os/seqpacket.h"
#include "tests/jail/session_fixture.h"

namespace sandglass::sandbox {
namespace {

using ::testing::HasSubstr;

class FileAgent : public ::testing::Test {
 protected:
  FileAgent() { Open(); }

  void Open() {
    jail_.files().reset();
    ASSERT_TRUE(jail_.session().OpenFiles().ok());
    ASSERT_TRUE(jail_.Await([&] { return jail_.files().has_value(); }));
    ASSERT_EQ(jail_.files()->error, 0);
    socket_ = std::move(jail_.files()->socket);
  }

  // What the agent says of a file; "" when it is gone.
  std::string Read(const std::string& path) {
    if (!os::SendPacket(socket_.get(), path, {}, os::Wait::kNo).ok()) return "";
    std::string answer;
    jail_.Await([&] {
      absl::StatusOr<os::Packet> packet =
          os::ReceivePacket(socket_.get(), os::Wait::kNo);
      if (packet.ok()) answer = packet->data;
      return !absl::IsNotFound(packet.status());
    });
    return answer;
  }

  TestSession jail_;
  os::Fd socket_;
};

TEST_F(FileAgent, TheAgentHasJustTheCodesRights) {
  const std::string status = Read("/proc/self/status");
  EXPECT_THAT(status, HasSubstr("Uid:\t1000\t1000\t1000\t1000"));
  EXPECT_THAT(status, HasSubstr("Gid:\t1000\t1000\t1000\t1000"));
  EXPECT_THAT(status, HasSubstr("CapPrm:\t0000000000000000"));
  EXPECT_THAT(status, HasSubstr("CapEff:\t0000000000000000"));
  EXPECT_THAT(status, HasSubstr("CapBnd:\t0000000000000000"));
  EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(status, HasSubstr("Seccomp:\t2"));
  EXPECT_THAT(status, HasSubstr("SigBlk:\t0000000000000000"));
  EXPECT_THAT(Read("/proc/self/oom_score_adj"), HasSubstr("1000"));
}

TEST_F(FileAgent, TheAgentOpensWhatTheCodeMay) {
  (void)jail_.Ended(Shell("echo hello > a; echo no > b; chmod 0 b"));
  EXPECT_EQ(Read("/workspace/a"), "=hello\n");
  EXPECT_EQ(Read("/workspace/b"), "error 13");
  EXPECT_EQ(Read("/proc/1/status"), "error 2");
}

TEST_F(FileAgent, TheAgentIsNoPartOfTheRun) {
  EXPECT_THAT(Read("/proc/self/cgroup"), HasSubstr("0::/\n"));
  (void)jail_.Ended(Shell("echo hello > a"));
  ASSERT_TRUE(jail_.session().jail().KillRun().ok());
  EXPECT_EQ(Read("/workspace/a"), "=hello\n");
  ASSERT_TRUE(jail_.session().Freeze(true).ok());
  EXPECT_EQ(Read("/workspace/a"), "=hello\n");
  ASSERT_TRUE(jail_.session().Freeze(false).ok());
}

TEST_F(FileAgent, IsHiddenFromTheCodeAsInitIs) {
  const Seen& seen = jail_.Ended(
      Python("import os\n"
             "print([int(p) for p in os.listdir('/proc') if p.isdigit()])"));
  EXPECT_EQ(seen.out, absl::StrCat("[", seen.spawned->pid, "]\n"));
}

// All that a debugger asks.
constexpr char kAttack[] = R"(
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
answers = set()
for pid in range(2, 64):
  if pid == os.getpid(): continue
  for name in ('mem', 'maps', 'environ', 'fd', 'root', 'cwd/x', 'exe'):
    try:
      os.open(f'/proc/{pid}/{name}', os.O_RDONLY)
      answers.add('open ' + name)
    except OSError as e:
      answers.add(e.strerror)
  if libc.ptrace(16, pid, 0, 0) == 0: answers.add('attached')
  buffer = ctypes.create_string_buffer(64)
  class Vec(ctypes.Structure):
    _fields_ = [('base', ctypes.c_void_p), ('len', ctypes.c_size_t)]
  here = Vec(ctypes.addressof(buffer), 64)
  there = Vec(0x400000, 64)
  if libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0:
    answers.add('read')
print(answers)
)";

TEST_F(FileAgent, TheCodeCantInspectTheAgent) {
  const Seen& seen = jail_.Ended(Python(kAttack));
  EXPECT_EQ(seen.out, "{'No such file or directory'}\n") << seen.err;
  EXPECT_NE(Read("/workspace/none"), "");
}

TEST_F(FileAgent, TheAgentGetsNoSignalsForOthers) {
  const std::string stat = Read("/proc/self/stat");
  const auto pid =
      static_cast<pid_t>(std::strtol(stat.c_str() + 1, nullptr, 10));
  ASSERT_GT(pid, 1) << stat;
  ASSERT_TRUE(jail_.session().SendSignal(pid, SIGKILL, false).ok());
  ASSERT_TRUE(jail_.session().SendSignal(pid, SIGKILL, true).ok());
  EXPECT_EQ(Read("/workspace/none"), "error 2");
}

TEST_F(FileAgent, IsReplacedWhenTheCodeStoppedOrKilledIt) {
  for (const char* signal : {"STOP", "KILL"}) {
    const Seen& seen =
        jail_.Ended(Shell(absl::StrCat("kill -", signal,
                                       " -1; for i in $(seq 2 64); do "
                                       "[ $i = $$ ] || kill -",
                                       signal, " $i; done")));
    EXPECT_TRUE(seen.exited.has_value());
    Open();
    EXPECT_EQ(Read("/workspace/none"), "error 2");
  }
  // The one before has ended.
  socket_.reset();
  Open();
  EXPECT_EQ(Read("/workspace/none"), "error 2");
}

}  // namespace
}  // namespace sandglass::sandbox
