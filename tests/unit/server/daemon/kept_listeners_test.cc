// Sockets that outlive a daemon.
#include "server/daemon/kept_listeners.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/tcp_socket.h"
#include "server/base/unix_socket.h"
#include "server/daemon/supervisor.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

os::Fd ListenAt(const std::string& path) {
  auto socket = ListenOnUnixSocket(
      {.path = path, .mode = 0600, .owner = ::getuid(), .group = ::getgid()});
  EXPECT_TRUE(socket.ok()) << socket.status();
  return socket.ok() ? *std::move(socket) : os::Fd();
}

// Connects, and returns whether there was somebody to wait for.
os::Fd Connect(const std::string& path) {
  os::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address),
                sizeof(address)) != 0) {
    socket.reset();
  }
  return socket;
}

// The exit status of a child that does this.
int InChild(const std::function<int()>& what) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(what());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// With this socket as descriptor 3, as a service manager passes it.
KeptListeners Passed(int socket, pid_t to) {
  ::dup2(socket, 3);
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  ::setenv("LISTEN_PID", absl::StrCat(to).c_str(), 1);
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  ::setenv("LISTEN_FDS", "1", 1);
  return KeptListeners::FromServiceManager();
}

TEST(KeptListeners, TakesWhatTheServiceManagerPasses) {
  TempDir dir;
  const std::string path = dir.path() + "/s";
  const os::Fd listener = ListenAt(path);
  const ListenAddress here = {.unix_path = path};
  EXPECT_EQ(InChild([&] {
              KeptListeners listeners = Passed(listener.get(), ::getpid());
              listeners.CloseOthers();
              // NOLINTNEXTLINE(concurrency-mt-unsafe)
              if (std::getenv("LISTEN_FDS") != nullptr) return 1;
              return listeners.Take(here).get() == 3 ? 0 : 2;
            }),
            0);
  // It was for another process.
  EXPECT_EQ(InChild([&] {
              return Passed(listener.get(), 1).Take(here).valid() ? 1 : 0;
            }),
            0);
  // It is no listening socket.
  EXPECT_EQ(InChild([&] {
              const os::Fd plain(::socket(AF_UNIX, SOCK_STREAM, 0));
              return Passed(plain.get(), ::getpid()).Take(here).valid() ? 1 : 0;
            }),
            0);
}

TEST(KeptListeners, ASocketElsewhereIsNotUsed) {
  TempDir dir;
  const std::string path = dir.path() + "/s";
  const os::Fd listener = ListenAt(path);
  const auto takes = [&](int socket, const ListenAddress& address) {
    return InChild([&] {
      return Passed(socket, ::getpid()).Take(address).valid() ? 1 : 0;
    });
  };
  EXPECT_EQ(takes(listener.get(), {.unix_path = path}), 1);
  EXPECT_EQ(takes(listener.get(), {.unix_path = path + "x"}), 0);
  EXPECT_EQ(takes(listener.get(), {.tcp_address = "127.0.0.1:80"}), 0);
  // Nobody can connect to it any more.
  ::unlink(path.c_str());
  EXPECT_EQ(takes(listener.get(), {.unix_path = path}), 0);

  const auto tcp = ListenOnTcp("listen", "127.0.0.1:0");
  ASSERT_TRUE(tcp.ok());
  const std::string port = absl::StrCat(":", TcpPortOf(*tcp));
  EXPECT_EQ(takes(tcp->get(), {.tcp_address = "127.0.0.1" + port}), 1);
  EXPECT_EQ(takes(tcp->get(), {.tcp_address = "127.0.0.1:0"}), 1);
  EXPECT_EQ(takes(tcp->get(), {.tcp_address = "127.0.0.2" + port}), 0);
  EXPECT_EQ(takes(tcp->get(), {.tcp_address = "[::1]" + port}), 0);
  EXPECT_EQ(takes(tcp->get(), {.tcp_address = "127.0.0.1:1"}), 0);
}

// Daemons under a supervisor: the first listens and dies, having served or not;
// the second takes what was kept, and notes who connected.
class SupervisedListeners : public ::testing::Test {
 protected:
  int Daemon(KeptListeners& listeners, Heartbeat& heartbeat, bool serves) {
    listeners.CloseOthers();
    if (!std::filesystem::exists(path_)) {
      listeners.Keep(ListenAt(path_));
      if (serves) heartbeat.Beat();
      // Until somebody has connected.
      while (!std::filesystem::exists(dir_.Path("connected"))) ::usleep(1000);
      return 1;
    }
    const os::Fd listener = listeners.Take({.unix_path = path_});
    pollfd fd = {listener.get(), POLLIN, 0};
    const bool waits = listener.valid() && ::poll(&fd, 1, 0) == 1;
    testing::WriteFile(dir_.Path("second"), waits ? "answers" : "has nobody");
    return 0;
  }

  // What the second one noted.
  std::string Second(bool serves, bool managed = false) {
    manager_ = os::Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    const std::string manager = dir_.Path("manager");
    manager.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(manager_.get(), reinterpret_cast<sockaddr*>(&address),
                     sizeof(address)),
              0);
    const pid_t supervisor = ::fork();
    if (supervisor == 0) {
      // NOLINTNEXTLINE(concurrency-mt-unsafe)
      if (managed) ::setenv("NOTIFY_SOCKET", manager.c_str(), 1);
      KeptListeners listeners;
      ::_exit(Supervise(
          [&](Heartbeat& heartbeat) {
            return Daemon(listeners, heartbeat, serves);
          },
          [&] {
            testing::WriteFile(dir_.Path("after"),
                               Connect(path_).valid() ? "waits" : "refused");
            return 0;
          },
          {.first_backoff = absl::Milliseconds(1), .listeners = &listeners}));
    }
    os::Fd client;
    EXPECT_TRUE(Eventually([&] {
      client = Connect(path_);
      return client.valid();
    }));
    testing::WriteFile(dir_.Path("connected"), "");
    int status = -1;
    EXPECT_EQ(::waitpid(supervisor, &status, 0), supervisor);
    EXPECT_EQ(status, 0);
    // With the last daemon it is closed, unless somebody else keeps it.
    EXPECT_EQ(testing::ReadFile(dir_.Path("after")),
              managed ? "waits" : "refused");
    return testing::ReadFile(dir_.Path("second"));
  }

  // Whether a service manager was told to close what it keeps.
  bool ManagerForgets() {
    bool forgets = false;
    char text[4096];
    for (ssize_t size = 0; (size = ::recv(manager_.get(), text, sizeof(text),
                                          MSG_DONTWAIT)) >= 0;) {
      forgets |=
          absl::StrContains(absl::string_view(text, static_cast<size_t>(size)),
                            "FDSTOREREMOVE=1");
    }
    return forgets;
  }

  TempDir dir_;
  const std::string path_ = dir_.Path("s");
  os::Fd manager_;  // of services, where it gets their words
};

TEST_F(SupervisedListeners, WhoConnectsIsAnsweredByTheNextDaemon) {
  EXPECT_EQ(Second(/*serves=*/true), "answers");
}

TEST_F(SupervisedListeners, NobodyWaitsForADaemonThatDoesNotStart) {
  EXPECT_EQ(Second(/*serves=*/false), "has nobody");
}

TEST_F(SupervisedListeners, AManagerForgetsTheSocketOfADaemonThatNeverServed) {
  // Where it went on listening, no other daemon could.
  (void)Second(/*serves=*/false, /*managed=*/true);
  EXPECT_TRUE(ManagerForgets());
}

TEST_F(SupervisedListeners, AManagerKeepsTheSocketOfADaemonThatServed) {
  EXPECT_EQ(Second(/*serves=*/true, /*managed=*/true), "answers");
  EXPECT_FALSE(ManagerForgets());
}

}  // namespace
}  // namespace sandglass::server
