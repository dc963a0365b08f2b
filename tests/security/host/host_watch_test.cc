// That what watches the host sees what is done to it.

#include "tests/security/host/host_watch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using ::testing::IsEmpty;

class HostWatchTest : public ::testing::Test {
 protected:
  // That `act` is told of with these words, and once.
  void Expect(const std::function<void()>& act, const char* words) {
    act();
    std::vector<std::string> changes;
    EXPECT_TRUE(WaitUntil(
        [&] {
          for (const std::string& change : watch_.Changes()) {
            changes.push_back(change);
          }
          return std::any_of(changes.begin(), changes.end(),
                             [&](const std::string& change) {
                               return absl::StrContains(change, words);
                             });
        },
        absl::Seconds(5)))
        << "not told: " << words;
    EXPECT_THAT(watch_.Changes(), IsEmpty());
  }

  HostWatch watch_;
};

TEST_F(HostWatchTest, AHostThatIsLeftAloneHasNotChanged) {
  EXPECT_THAT(watch_.Changes(), IsEmpty());
  EXPECT_THAT(watch_.Changes(), IsEmpty());
}

TEST_F(HostWatchTest, SeesWhatIsDoneToFiles) {
  const std::string file = watch_.directory() + "/file";
  Expect([&] { WriteFile(file, "x"); }, "content of bait file was");
  Expect([&] { ::chmod(file.c_str(), 0600); }, "bait file was mode");
  Expect([&] { EXPECT_EQ(::link(file.c_str(), (file + "2").c_str()), 0); },
         "bait file2 is new");
  Expect([&] { ::unlink((watch_.directory() + "/program").c_str()); },
         "bait program is gone");
}

TEST_F(HostWatchTest, SeesWhoConnects) {
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  const std::string abstract = watch_.abstract_name();
  abstract.copy(name.sun_path, sizeof(name.sun_path));
  name.sun_path[0] = '\0';
  const os::Fd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Expect(
      [&] {
        EXPECT_EQ(
            ::connect(client.get(), reinterpret_cast<sockaddr*>(&name),
                      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                                             abstract.size())),
            0);
      },
      "somebody at the abstract socket");
}

TEST_F(HostWatchTest, SeesSignalsAndDeath) {
  Expect([&] { Kill(watch_.process(), SIGTERM); },
         "process was is untouched and is got a signal");
}

TEST_F(HostWatchTest, SeesTheDeathOfTheProcess) {
  Expect([&] { Kill(watch_.process(), SIGKILL); }, "is dead");
}

TEST_F(HostWatchTest, SeesSystemV) {
  Expect(
      [&] {
        const struct {
          long type;
          char text[1];
        } message = {1, {'x'}};
        EXPECT_EQ(::msgsnd(::msgget(watch_.key(), 0), &message, 1, 0), 0);
      },
      "System V");
  Expect(
      [&] {
        ::shmdt(::shmat(::shmget(watch_.key(), 0, 0), nullptr, SHM_RDONLY));
      },
      "System V");
}

TEST_F(HostWatchTest, SeesMounts) {
  Expect(
      [&] {
        EXPECT_EQ(
            ::mount("none", watch_.directory().c_str(), "tmpfs", 0, nullptr),
            0);
      },
      "/proc/self/mountinfo was without a line and is ");
  EXPECT_EQ(::umount2(watch_.directory().c_str(), MNT_DETACH), 0);
}

}  // namespace
}  // namespace sandglass::testing
