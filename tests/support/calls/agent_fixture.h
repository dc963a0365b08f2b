#ifndef SANDGLASS_TESTS_SUPPORT_CALLS_AGENT_FIXTURE_H_
#define SANDGLASS_TESTS_SUPPORT_CALLS_AGENT_FIXTURE_H_

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "sandbox/file_agent/file_agent.h"
#include "sandbox/files/file_agent_client.h"
#include "sandbox/os/process.h"
#include "sandbox/os/seqpacket.h"
#include "tests/support/temp_dir.h"

namespace sandglass::testing {

// A file agent in a process of its own, whose root is a directory of the test.
class AgentFixture : public ::testing::Test {
 protected:
  static constexpr uid_t kNobody = 65534;

  // As the test's own user, which may be root.
  void Start() { StartAs(::geteuid()); }
  // Only root can; the directory then is that user's.
  void StartAs(uid_t uid) {
    ::signal(SIGPIPE, SIG_IGN);
    absl::StatusOr<std::pair<os::Fd, os::Fd>> ends = os::SeqPacketPair();
    ASSERT_TRUE(ends.ok());
    os::Fd root(::open(dir_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(root.valid());
    const int agent_end = ends->second.get(), root_end = root.get();
    pid_ = ::fork();
    ASSERT_GE(pid_, 0);
    if (pid_ == 0) {
      if (uid != ::geteuid() &&
          (::fchownat(AT_FDCWD, dir_.path().c_str(), uid, uid, 0) != 0 ||
           ::setgroups(0, nullptr) != 0 || ::setresgid(uid, uid, uid) != 0 ||
           ::setresuid(uid, uid, uid) != 0)) {
        ::_exit(99);
      }
      // Nothing else of the test's is left open, as in a jail.
      os::Fd socket(::fcntl(agent_end, F_DUPFD_CLOEXEC, 1000));
      os::Fd own_root(::fcntl(root_end, F_DUPFD_CLOEXEC, 1000));
      os::CloseRange(3, 999);
      sandbox::RunFileAgentIn(std::move(socket), std::move(own_root));
    }
    agent_ = std::make_unique<sandbox::FileAgent>(std::move(ends->first));
  }

  // Ends the agent; its exit status, -1 when it doesn't end.
  int Stop() {
    agent_.reset();
    const pid_t pid = std::exchange(pid_, 0);
    if (pid == 0) return -1;
    int status = -1;
    ::waitpid(pid, &status, 0);
    return status;
  }

  ~AgentFixture() override { Stop(); }

  sandbox::FileAgent& agent() { return *agent_; }
  // Where a path of the agent's is for the test.
  std::string At(const std::string& path) const { return dir_.path() + path; }
  void Put(const std::string& path, const std::string& text) const {
    WriteFile(At(path), text);
  }
  std::string Get(const std::string& path) const { return ReadFile(At(path)); }
  size_t NamesIn(const std::string& path) const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(At(path))) {
      (void)entry;
      ++count;
    }
    return count;
  }

  // In memory, as a jail's files are.
  const TempDir dir_{"/dev/shm"};
  const sandbox::FileLimits limits_ = {};
  std::unique_ptr<sandbox::FileAgent> agent_;
  pid_t pid_ = 0;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_CALLS_AGENT_FIXTURE_H_
