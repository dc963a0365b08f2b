#include "server/daemon/supervisor.h"

#include <pty.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

volatile sig_atomic_t interrupts = 0;

// Of the supervisors here: longer than a busy machine keeps a daemon from
// beating.
constexpr absl::Duration kPatience = absl::Milliseconds(800);

// A line per start, kept in a file since each daemon is a process of its own.
class SupervisorTest : public ::testing::Test {
 protected:
  int Starts() const {
    std::ifstream file(path_);
    int lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    return lines;
  }
  void Note() const {
    std::ofstream(path_, std::ios::app) << ::getpid() << "\n";
  }
  pid_t LastPid() const {
    std::ifstream file(path_);
    pid_t pid = 0;
    for (pid_t next; file >> next;) pid = next;
    return pid;
  }
  // Whether the daemon that was started last is stopped by a signal.
  bool IsStopped() const {
    std::ifstream stat(absl::StrCat("/proc/", LastPid(), "/stat"));
    std::string pid, name, state;
    stat >> pid >> name >> state;
    return state == "T";
  }
  // Runs Supervise in a child process.
  pid_t Start(
      const std::function<int(Heartbeat&)>& daemon,
      const std::function<int()>& clean_up = [] { return 0; }) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::_exit(Supervise(daemon, clean_up,
                        {.first_backoff = absl::Milliseconds(1),
                         .longest_backoff = absl::Milliseconds(4),
                         .patience = kPatience,
                         .start_patience = start_patience_,
                         .end_patience = 3 * kPatience}));
    }
    return child;
  }
  int Wait(pid_t pid) {
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  absl::Duration start_patience_ = absl::Seconds(30);
  TempDir dir_;
  const std::string path_ = dir_.path() + "/starts";
};

TEST_F(SupervisorTest, StartsAgainAfterAFailureUntilAnOrderlyEnd) {
  const pid_t supervisor = Start([this](Heartbeat&) {
    Note();
    return Starts() < 4 ? 1 : 0;
  });
  EXPECT_EQ(Wait(supervisor), 0);
  EXPECT_EQ(Starts(), 4);
}

TEST_F(SupervisorTest, GivesUpOnABadConfiguration) {
  const pid_t supervisor = Start([this](Heartbeat&) {
    Note();
    return kExitBadConfig;
  });
  EXPECT_EQ(Wait(supervisor), kExitBadConfig);
  EXPECT_EQ(Starts(), 1);
}

TEST_F(SupervisorTest, GoesOnWhenTheConfigurationBrokeLater) {
  const pid_t supervisor = Start([this](Heartbeat&) {
    Note();
    switch (Starts()) {
      case 1:
        return 1;
      case 4:
        return 0;
      default:
        return kExitBadConfig;
    }
  });
  EXPECT_EQ(Wait(supervisor), 0);
  EXPECT_EQ(Starts(), 4);
}

TEST_F(SupervisorTest, StartsAgainAfterSigkillAndPassesSigtermOn) {
  const std::string cleaned = dir_.path() + "/cleaned";
  const pid_t supervisor = Start(
      [this](Heartbeat&) {
        sigset_t term;
        sigemptyset(&term);
        sigaddset(&term, SIGTERM);
        // NOLINTNEXTLINE(concurrency-mt-unsafe)
        ::sigprocmask(SIG_BLOCK, &term, nullptr);
        Note();
        int signal = 0;
        ::sigwait(&term, &signal);
        return 0;
      },
      [&] {
        std::ofstream(cleaned) << "yes";
        return 0;
      });
  ASSERT_TRUE(Eventually([&] { return Starts() == 1; }));
  ::kill(LastPid(), SIGKILL);
  ASSERT_TRUE(Eventually([&] { return Starts() == 2; }));
  EXPECT_FALSE(std::filesystem::exists(cleaned));
  ::kill(supervisor, SIGTERM);
  EXPECT_EQ(Wait(supervisor), 0);
  EXPECT_EQ(Starts(), 2);
  EXPECT_TRUE(std::filesystem::exists(cleaned));
}

TEST_F(SupervisorTest, AStopBeforeTheDaemonIsReadyForOneIsInOrder) {
  const pid_t supervisor = Start([this](Heartbeat&) {
    Note();
    ::pause();
    return 1;
  });
  ASSERT_TRUE(Eventually([&] { return Starts() == 1; }));
  ::kill(supervisor, SIGTERM);
  EXPECT_EQ(Wait(supervisor), 0);
}

// A terminal sends it to both, and a daemon that gets two ends at once.
TEST_F(SupervisorTest, CtrlCReachesTheDaemonOnce) {
  int terminal = -1;
  const pid_t supervisor = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (supervisor == 0) {
    ::_exit(Supervise(
        [this](Heartbeat&) {
          struct sigaction count {};
          count.sa_handler = [](int) { interrupts = interrupts + 1; };
          ::sigaction(SIGINT, &count, nullptr);
          Note();
          while (interrupts == 0) absl::SleepFor(absl::Milliseconds(1));
          absl::SleepFor(absl::Milliseconds(500));
          return interrupts == 1 ? 0 : 20;
        },
        [] { return 0; }, {}));
  }
  ASSERT_GT(supervisor, 0);
  ASSERT_TRUE(Eventually([&] { return Starts() == 1; }));
  ASSERT_EQ(::write(terminal, "\x03", 1), 1);
  EXPECT_EQ(Wait(supervisor), 0);
  ::close(terminal);
}

TEST_F(SupervisorTest, GoesOnWhenNobodyReadsTheLog) {
  int log[2];
  ASSERT_EQ(::pipe(log), 0);
  const pid_t supervisor = ::fork();
  if (supervisor == 0) {
    ::dup2(log[1], STDERR_FILENO);
    ::close(log[0]);
    ::close(log[1]);
    ::_exit(Supervise(
        [this](Heartbeat&) {
          Note();
          return Starts() < 3 ? 1 : 0;
        },
        [] { return 0; }, {.first_backoff = absl::Milliseconds(1)}));
  }
  ::close(log[0]);
  ::close(log[1]);
  EXPECT_EQ(Wait(supervisor), 0);
  EXPECT_EQ(Starts(), 3);
}

TEST_F(SupervisorTest, TellsTheServiceManagerBetweenTwoStarts) {
  const std::string path = dir_.path() + "/notify";
  const int manager = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(manager, reinterpret_cast<const sockaddr*>(&address),
                   sizeof(address)),
            0);
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  const pid_t supervisor = Start([this](Heartbeat&) {
    Note();
    return Starts() < 3 ? 1 : 0;
  });
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  ::unsetenv("NOTIFY_SOCKET");
  EXPECT_EQ(Wait(supervisor), 0);
  for (int i = 0; i < 2; ++i) {
    char said[32] = {};
    ASSERT_GT(::recv(manager, said, sizeof(said) - 1, MSG_DONTWAIT), 0) << i;
    EXPECT_STREQ(said, "WATCHDOG=1");
  }
  ::close(manager);
}

TEST_F(SupervisorTest, ADaemonThatHangsIsKilledAndStartedAgain) {
  const pid_t supervisor = Start([this](Heartbeat& heartbeat) {
    Note();
    heartbeat.KeepFromChildren();
    heartbeat.Beat();
    if (Starts() == 1) ::pause();
    return 0;
  });
  EXPECT_EQ(Wait(supervisor), 0);
  EXPECT_EQ(Starts(), 2);
}

TEST_F(SupervisorTest, ADaemonThatIsStoppedWhileItStartsIsKilled) {
  start_patience_ = absl::Seconds(1);
  const pid_t supervisor = Start([this](Heartbeat&) {
    Note();
    if (Starts() == 1) ::raise(SIGSTOP);
    return 0;
  });
  EXPECT_EQ(Wait(supervisor), 0);
  EXPECT_EQ(Starts(), 2);
}

// One that has a word to say about its end says it.
TEST_F(SupervisorTest, ADaemonThatIsStoppedEndsInOrderWhenItIsToldTo) {
  const std::string ended = dir_.path() + "/ended";
  const pid_t supervisor = Start([&](Heartbeat& heartbeat) {
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    ::sigprocmask(SIG_BLOCK, &term, nullptr);
    heartbeat.Rest();
    Note();
    ::raise(SIGSTOP);
    int signal = 0;
    ::sigwait(&term, &signal);
    std::ofstream(ended) << "yes";
    return 0;
  });
  ASSERT_TRUE(Eventually([&] { return IsStopped(); }));
  ::kill(supervisor, SIGTERM);
  EXPECT_EQ(Wait(supervisor), 0);
  EXPECT_TRUE(std::filesystem::exists(ended));
}

TEST_F(SupervisorTest, WhatHangsAtTheEndIsKilledAndSoIsItsCleanUp) {
  const pid_t supervisor = Start(
      [this](Heartbeat& heartbeat) {
        ::signal(SIGTERM, SIG_IGN);
        heartbeat.Rest();
        Note();
        while (true) ::raise(SIGSTOP);
        return 0;
      },
      [this] {
        Note();
        ::raise(SIGSTOP);
        return 0;
      });
  ASSERT_TRUE(Eventually([&] { return Starts() == 1; }));
  ::kill(supervisor, SIGTERM);
  EXPECT_EQ(Wait(supervisor), 128 + SIGKILL);
  EXPECT_EQ(Starts(), 2);
}

// Before it has begun to, while it beats, and once it said that it ends.
TEST_F(SupervisorTest, ADaemonThatMayBeSilentIsLeftAlone) {
  const pid_t supervisor = Start([this](Heartbeat& heartbeat) {
    Note();
    // Longer than the patience that it has once it beats.
    absl::SleepFor(kPatience * 1.5);
    for (int i = 0; i < 30; ++i) {
      heartbeat.Beat();
      absl::SleepFor(kPatience / 20);
    }
    heartbeat.Rest();
    absl::SleepFor(kPatience * 1.5);
    return 0;
  });
  EXPECT_EQ(Wait(supervisor), 0);
  EXPECT_EQ(Starts(), 1);
}

TEST_F(SupervisorTest, TheDaemonDiesWithItsSupervisor) {
  const pid_t supervisor = Start([this](Heartbeat&) {
    Note();
    ::pause();
    return 0;
  });
  ASSERT_TRUE(Eventually([&] { return Starts() == 1; }));
  const pid_t daemon = LastPid();
  ::kill(supervisor, SIGKILL);
  Wait(supervisor);
  // Gone, or a zombie that whoever adopted it has not reaped.
  EXPECT_TRUE(Eventually([&] {
    std::ifstream stat("/proc/" + std::to_string(daemon) + "/stat");
    std::string pid, name, state;
    return !(stat >> pid >> name >> state) || state == "Z";
  }));
}

}  // namespace
}  // namespace sandglass::server
