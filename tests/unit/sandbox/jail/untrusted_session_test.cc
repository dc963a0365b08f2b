// What the daemon takes from the init of a session's jail that lies.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "internal/spawner.pb.h"
#include "sandbox/jail/session_jail.h"
#include "sandbox/os/seqpacket.h"

namespace sandglass::sandbox {
namespace {

using Answer = absl::StatusOr<std::optional<SessionEvent>>;

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
  os::Fd read, write;
};

// A file of a control group that is gone again; empty where none can be made.
os::Fd GroupFile(const char* name, int access) {
  for (const char* mount : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"}) {
    const std::string group =
        absl::StrCat(mount, "/sandglass-unit-test-", ::getpid());
    if (::mkdir(group.c_str(), 0755) != 0) continue;
    os::Fd file(
        ::open(absl::StrCat(group, "/", name).c_str(), access | O_CLOEXEC));
    ::rmdir(group.c_str());
    if (file.valid()) return file;
  }
  return os::Fd();
}

class UntrustedSession : public ::testing::Test {
 protected:
  UntrustedSession() { Begin(); }

  void Begin() {
    auto pair = os::SeqPacketPair();
    ASSERT_TRUE(pair.ok());
    init_ = std::move(pair->second);
    Jail::Parts parts;
    parts.control = std::move(pair->first);
    session_ =
        std::make_unique<SessionJail>(std::make_unique<Jail>(std::move(parts)));
  }

  Answer Say(const internal::InitEvent& event, const std::vector<int>& fds) {
    const absl::Status sent = os::SendPacket(
        init_.get(), event.SerializeAsString(), fds, os::Wait::kNo);
    EXPECT_TRUE(sent.ok()) << sent;
    return session_->NextEvent();
  }

  // What an init that behaves says to a plain request, and what goes with it.
  internal::InitEvent Spawned(uint64_t id) {
    internal::InitEvent event;
    internal::Spawned& spawned = *event.mutable_spawned();
    spawned.set_process_id(id);
    spawned.set_pid(7);
    for (const internal::FdRole role :
         {internal::FD_ROLE_STDOUT, internal::FD_ROLE_STDERR,
          internal::FD_ROLE_KILL_PROCESS, internal::FD_ROLE_PROCESS_EVENTS,
          internal::FD_ROLE_PROCESS_CPU, internal::FD_ROLE_PROCESS_LIST}) {
      spawned.add_roles(role);
    }
    return event;
  }
  std::vector<int> SpawnedFds() {
    return {out_.read.get(), error_.read.get(), kill_.get(),
            events_.get(),   cpu_.get(),        list_.get()};
  }
  void Ask(uint64_t id) {
    ASSERT_TRUE(session_->Spawn(id, {.argv = {"/bin/true"}}).ok());
  }

  Pipe out_, error_;
  const os::Fd kill_ = GroupFile("cgroup.kill", O_WRONLY);
  const os::Fd events_ = GroupFile("cgroup.events", O_RDONLY);
  const os::Fd cpu_ = GroupFile("cpu.stat", O_RDONLY);
  const os::Fd list_ = GroupFile("cgroup.procs", O_RDONLY);
  os::Fd init_;
  std::unique_ptr<SessionJail> session_;
};

internal::InitEvent Exited(uint64_t id) {
  internal::InitEvent event;
  event.mutable_process_exited()->set_process_id(id);
  return event;
}

internal::InitEvent Failed(uint64_t id, int step) {
  internal::InitEvent event;
  event.mutable_spawn_failed()->set_process_id(id);
  event.mutable_spawn_failed()->mutable_failure()->set_step(step);
  return event;
}

TEST(SpawnFailed, IsACallersMistakeOnlyWhereNothingRanOut) {
  for (const SetupStep step : {SetupStep::kExec, SetupStep::kEnterDirectory}) {
    for (const int error : {ENOENT, EACCES, ENOTDIR}) {
      EXPECT_TRUE((SpawnFailedEvent{1, step, error}.IsCallersMistake()))
          << error;
    }
    for (const int error :
         {EAGAIN, EMFILE, ENFILE, ENOMEM, ENOSPC, ENOBUFS, EINTR}) {
      EXPECT_FALSE((SpawnFailedEvent{1, step, error}.IsCallersMistake()))
          << error;
    }
  }
  EXPECT_FALSE(
      (SpawnFailedEvent{1, SetupStep::kLandlock, EPERM}.IsCallersMistake()));
}

// Only root makes groups.
#define SKIP_WITHOUT_GROUPS()                       \
  if (!kill_.valid() || !events_.valid()) {         \
    GTEST_SKIP() << "no control group can be used"; \
  }

TEST_F(UntrustedSession, IsBelievedWhatWasAskedFor) {
  SKIP_WITHOUT_GROUPS();
  Ask(3);
  Answer answer = Say(Spawned(3), SpawnedFds());
  ASSERT_TRUE(answer.ok()) << answer.status();
  const auto& spawned = std::get<SpawnedEvent>(**answer);
  EXPECT_EQ(spawned.id, 3u);
  EXPECT_EQ(spawned.pid, 7);
  EXPECT_TRUE(spawned.fds.stdout_fd.valid());
  EXPECT_FALSE(spawned.fds.stdin_fd.valid());
  // Init may have left it waiting.
  EXPECT_NE(::fcntl(spawned.fds.stdout_fd.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_TRUE(Say(Exited(3), {}).ok());
}

TEST_F(UntrustedSession, NamesNoProcessThatWasNotAskedFor) {
  EXPECT_FALSE(Say(Spawned(3), SpawnedFds()).ok());
  EXPECT_FALSE(Say(Exited(3), {}).ok());
  EXPECT_FALSE(Say(Failed(3, 1), {}).ok());
  Ask(4);
  EXPECT_FALSE(Say(Spawned(3), SpawnedFds()).ok());
}

TEST_F(UntrustedSession, EndsNothingThatHasNotBegun) {
  Ask(3);
  EXPECT_FALSE(Say(Exited(3), {}).ok());
}

TEST_F(UntrustedSession, SaysEverythingOnce) {
  SKIP_WITHOUT_GROUPS();
  Ask(3);
  ASSERT_TRUE(Say(Spawned(3), SpawnedFds()).ok());
  EXPECT_FALSE(Say(Spawned(3), SpawnedFds()).ok());
  EXPECT_FALSE(Say(Failed(3, 1), {}).ok());
  ASSERT_TRUE(Say(Exited(3), {}).ok());
  EXPECT_FALSE(Say(Exited(3), {}).ok());
  Ask(4);
  ASSERT_TRUE(Say(Failed(4, 1), {}).ok());
  EXPECT_FALSE(Say(Failed(4, 1), {}).ok());
}

TEST_F(UntrustedSession, NamesNoStepThatThereIsNot) {
  Ask(3);
  EXPECT_FALSE(Say(Failed(3, -1), {}).ok());
  EXPECT_FALSE(Say(Failed(3, kSetupStepCount), {}).ok());
}

TEST_F(UntrustedSession, NamesNoPidThatCantBe) {
  SKIP_WITHOUT_GROUPS();
  Ask(3);
  for (const int pid : {-1, 0, 1, 1 << 30}) {
    internal::InitEvent event = Spawned(3);
    event.mutable_spawned()->set_pid(pid);
    EXPECT_FALSE(Say(event, SpawnedFds()).ok()) << pid;
  }
}

TEST_F(UntrustedSession, SendsTheDescriptorsThatBelongThere) {
  SKIP_WITHOUT_GROUPS();
  const Pipe other;
  const os::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const os::Fd memory(::memfd_create("cgroup.kill", MFD_CLOEXEC));
  const os::Fd wrong = GroupFile("cgroup.freeze", O_WRONLY);
  const os::Fd path = GroupFile("cgroup.kill", O_PATH);
  const os::Fd group = GroupFile(".", O_RDONLY | O_DIRECTORY);
  for (size_t place = 0; place < 4; ++place) {
    for (const int fd : {null.get(), memory.get(), wrong.get(), path.get(),
                         group.get(), other.write.get()}) {
      if (fd < 0) continue;
      Ask(place + 1);
      std::vector<int> fds = SpawnedFds();
      fds[place] = fd;
      EXPECT_FALSE(Say(Spawned(place + 1), fds).ok()) << place;
      Begin();
    }
  }
  std::vector<int> fds = SpawnedFds();
  fds.pop_back();
  Ask(1);
  EXPECT_FALSE(Say(Spawned(1), fds).ok());
  EXPECT_FALSE(Say(Spawned(1), {}).ok());
  fds = SpawnedFds();
  fds.push_back(null.get());
  EXPECT_FALSE(Say(Spawned(1), fds).ok());
}

TEST_F(UntrustedSession, GivesTheRolesThatWereAskedFor) {
  SKIP_WITHOUT_GROUPS();
  Ask(1);
  internal::InitEvent event = Spawned(1);
  event.mutable_spawned()->set_roles(0, internal::FD_ROLE_CHANNEL);
  EXPECT_FALSE(Say(event, SpawnedFds()).ok());
  event = Spawned(1);
  event.mutable_spawned()->set_roles(0, internal::FD_ROLE_STDERR);
  event.mutable_spawned()->set_roles(1, internal::FD_ROLE_STDOUT);
  EXPECT_FALSE(Say(event, SpawnedFds()).ok());
  // A terminal is one.
  ProcessSpec spec = {.argv = {"/bin/true"},
                      .stdio = ProcessSpec::Stdio::kTerminal};
  ASSERT_TRUE(session_->Spawn(2, spec).ok());
  event = Spawned(2);
  event.mutable_spawned()->clear_roles();
  event.mutable_spawned()->add_roles(internal::FD_ROLE_TERMINAL);
  event.mutable_spawned()->add_roles(internal::FD_ROLE_KILL_PROCESS);
  event.mutable_spawned()->add_roles(internal::FD_ROLE_PROCESS_EVENTS);
  event.mutable_spawned()->add_roles(internal::FD_ROLE_PROCESS_CPU);
  event.mutable_spawned()->add_roles(internal::FD_ROLE_PROCESS_LIST);
  const os::Fd master(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
  const Pipe other;
  EXPECT_FALSE(Say(event, {other.read.get(), kill_.get(), events_.get(),
                           cpu_.get(), list_.get()})
                   .ok());
  if (!master.valid()) return;
  EXPECT_TRUE(Say(event, {master.get(), kill_.get(), events_.get(), cpu_.get(),
                          list_.get()})
                  .ok());
}

TEST_F(UntrustedSession, OpensFilesWhenAskedWithASocket) {
  internal::InitEvent event;
  event.mutable_files_opened();
  auto pair = os::SeqPacketPair();
  ASSERT_TRUE(pair.ok());
  const int socket = pair->first.get();
  EXPECT_FALSE(Say(event, {socket}).ok());
  ASSERT_TRUE(session_->OpenFiles().ok());
  EXPECT_FALSE(Say(event, {}).ok());
  EXPECT_FALSE(Say(event, {out_.read.get()}).ok());
  const os::Fd stream(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_FALSE(Say(event, {stream.get()}).ok());
  Answer answer = Say(event, {socket});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(std::get<FileChannelEvent>(**answer).socket.valid());
  EXPECT_FALSE(Say(event, {socket}).ok());
  ASSERT_TRUE(session_->OpenFiles().ok());
  event.mutable_files_opened()->set_error(ENOSYS);
  answer = Say(event, {});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(std::get<FileChannelEvent>(**answer).error, ENOSYS);
}

TEST_F(UntrustedSession, EndsItsProgramOnce) {
  internal::InitEvent event;
  event.mutable_exited();
  (void)Say(event, {});
  EXPECT_FALSE(Say(event, {}).ok());
}

TEST_F(UntrustedSession, OwesNoMoreThanItWasAsked) {
  uint64_t id = 0;
  absl::Status asked;
  while (asked.ok() && id < 2 * SessionJail::kMaxProcesses) {
    asked = session_->Spawn(++id, {.argv = {"/bin/true"}});
    // The queue is shorter than that.
    (void)os::ReceivePacket(init_.get(), os::Wait::kNo);
  }
  EXPECT_TRUE(absl::IsResourceExhausted(asked)) << asked;
  EXPECT_EQ(id, SessionJail::kMaxProcesses + 1);
  ASSERT_TRUE(Say(Failed(1, 1), {}).ok());
  EXPECT_TRUE(session_->Spawn(id, {.argv = {"/bin/true"}}).ok());
}

TEST(OrdinaryJail, StartsNoFurtherProcesses) {
  auto pair = os::SeqPacketPair();
  ASSERT_TRUE(pair.ok());
  Jail::Parts parts;
  parts.control = std::move(pair->first);
  Jail jail(std::move(parts));
  for (const internal::InitEvent& event : {Exited(1), Failed(1, 1)}) {
    ASSERT_TRUE(os::SendPacket(pair->second.get(), event.SerializeAsString(),
                               {}, os::Wait::kNo)
                    .ok());
    EXPECT_FALSE(jail.NextEvent().ok());
  }
}

}  // namespace
}  // namespace sandglass::sandbox
