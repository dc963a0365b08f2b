// A file agent whose host has no memory for what it has to say.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <thread>

#include "absl/time/time.h"
#include "sandbox/files/file_agent_client.h"
#include "sandbox/os/clocks.h"
#include "tests/security/host/fault_injector.h"
#include "tests/support/calls/agent_fixture.h"

namespace sandglass::sandbox {
namespace {

using Links = FileAgent::Links;

class FileAgentShortageTest : public sandglass::testing::AgentFixture {
 protected:
  // With a thread of its own, whose calls alone, and those of what it starts,
  // the injector gets to see for good.
  void WithInjector(const std::function<void()>& body) {
    std::thread([&] {
      sandglass::testing::FaultInjector injector({SYS_sendmsg});
      if (!injector.ok()) GTEST_SKIP() << "needs root to have calls fail";
      injector_ = &injector;
      body();
      // The agent has to have ended before the injector goes.
      Stop();
    }).join();
  }

  FileResult Stat() {
    return agent().Stat("/a", Links::kFollow, limits_).result;
  }
  // In a process of its own.
  FileResult List() { return agent().List("/", "", 0, limits_).result; }

  // The first message of the agent's, or of its processes, fails, or each.
  void Arm(int error, int nth) {
    const pid_t own = ::gettid();
    injector_->Arm(SYS_sendmsg, error, nth,
                   [own](pid_t thread) { return thread != own; });
  }

  sandglass::testing::FaultInjector* injector_ = nullptr;
};

TEST_F(FileAgentShortageTest, TheLastReplyIsSentAgain) {
  Put("/a", "a");
  WithInjector([this] {
    Start();
    for (const int error : {ENOMEM, ENOBUFS}) {
      Arm(error, 1);
      EXPECT_EQ(Stat().code, FileCode::kOk) << error;
      EXPECT_EQ(injector_->Disarm(), 2);
      Arm(error, 1);
      EXPECT_EQ(List().code, FileCode::kOk) << error;
      EXPECT_EQ(injector_->Disarm(), 2);
    }
  });
}

// Descriptors of others, which nobody takes, are on their way.
TEST_F(FileAgentShortageTest, AnOpenWhoseDescriptorCanNotGoIsRefused) {
  Put("/a", "a");
  WithInjector([this] {
    Start();
    const pid_t own = ::gettid();
    // Past the two seconds of the answer with it, and not those of the other.
    const absl::Time until = os::SteadyNow() + absl::Seconds(3);
    injector_->Arm(SYS_sendmsg, ETOOMANYREFS,
                   sandglass::testing::FaultInjector::kEach,
                   [own, until](pid_t thread) {
                     return thread != own && os::SteadyNow() < until;
                   });
    const FileResult result = agent().Open("/a", limits_).result;
    injector_->Disarm();
    EXPECT_EQ(result.code, FileCode::kBusy);
    EXPECT_EQ(result.error, EMFILE);
    EXPECT_TRUE(agent().Open("/a", limits_).result.ok());
    EXPECT_EQ(Stop(), 0);
  });
}

TEST_F(FileAgentShortageTest, AnAgentThatCanNotSpeakIsGoneAtOnce) {
  Put("/a", "a");
  WithInjector([this] {
    for (const bool in_a_process : {false, true}) {
      Start();
      Arm(ENOBUFS, sandglass::testing::FaultInjector::kEach);
      const absl::Time begun = os::SteadyNow();
      const FileResult result = in_a_process ? List() : Stat();
      const absl::Duration took = os::SteadyNow() - begun;
      injector_->Disarm();
      EXPECT_EQ(result.code, FileCode::kAgentGone);
      EXPECT_LT(took, limits_.timeout / 2);
      EXPECT_FALSE(agent().alive());
      EXPECT_EQ(Stop(), 0);
    }
  });
}

}  // namespace
}  // namespace sandglass::sandbox
