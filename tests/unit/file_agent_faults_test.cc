// A file agent whose processes have something happen to them in one moment.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "sandbox/file_agent_client.h"
#include "sandbox/os/clocks.h"
#include "tests/security/fault_injector.h"
#include "tests/support/agent_fixture.h"

namespace sandglass::sandbox {
namespace {

using Occurrences = FileAgent::Occurrences;

class FileAgentFaultsTest : public sandglass::testing::AgentFixture {
 protected:
  using Injector = sandglass::testing::FaultInjector;

  // With a thread of its own, whose calls alone, and those of what it starts,
  // the injector gets to see for good.
  void WithInjector(const std::vector<int>& calls,
                    const std::function<void(Injector&)>& body) {
    std::thread([&] {
      Injector injector(calls);
      if (!injector.ok()) GTEST_SKIP() << "needs root to have calls fail";
      body(injector);
      // The agent has to have ended before the injector goes.
      Stop();
    }).join();
  }

  // Whether the agent ends, without which Stop would wait.
  bool EndsWithin(absl::Duration patience) {
    agent_.reset();
    const absl::Time until = os::SteadyNow() + patience;
    while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
      if (os::SteadyNow() > until) return false;
      ::poll(nullptr, 0, 10);
    }
    pid_ = 0;
    return true;
  }
};

TEST_F(FileAgentFaultsTest, AStoppedWriterOfAnEditHoldsNobodyUp) {
  Put("/f", "one two\n");
  WithInjector({SYS_ftruncate}, [this](Injector& injector) {
    Start();
    // The last that the writer does.
    std::atomic<pid_t> writer = 0;
    injector.Arm(SYS_ftruncate, 0, 1, [&writer](pid_t thread) {
      if (writer.exchange(thread) == 0) ::kill(thread, SIGSTOP);
      return true;
    });
    FileLimits limits;
    limits.timeout = absl::Seconds(1);
    const FileCode code =
        agent().Edit("/f", "two", "2", Occurrences::kOne, limits).result.code;
    EXPECT_EQ(code, FileCode::kTimedOut);
    EXPECT_NE(writer, 0);
    // It is given two seconds.
    EXPECT_TRUE(EndsWithin(absl::Seconds(10)));
    if (writer != 0) ::kill(writer, SIGKILL);
    EXPECT_EQ(Get("/f"), "one 2\n");
    injector.Disarm();
  });
}

}  // namespace
}  // namespace sandglass::sandbox
