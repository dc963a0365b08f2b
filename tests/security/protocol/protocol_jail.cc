#include "tests/security/protocol/protocol_jail.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "sandbox/yard/yard.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(1);

os::Fd NewFile(const std::string& path, const std::string& text) {
  os::Fd file(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  EXPECT_EQ(::write(file.get(), text.data(), text.size()),
            static_cast<ssize_t>(text.size()));
  return file;
}

os::Fd OpenPath(const char* path) {
  return os::Fd(::open(path, O_PATH | O_CLOEXEC));
}

}  // namespace

int64_t Nanos() {
  struct timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

Pipe MakePipe(int flags) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC | flags), 0);
  return {os::Fd(ends[0]), os::Fd(ends[1])};
}

FarEnd::FarEnd(uint64_t id, bool with_runner, const std::string& parent)
    : directory(absl::StrCat(parent, "/", id)), id_(id) {
  std::filesystem::create_directories(directory + "/run");
  auto sockets = os::SeqPacketPair();
  EXPECT_TRUE(sockets.ok());
  near_control_ = std::move(sockets->first);
  control = std::move(sockets->second);
  if (with_runner) {
    auto pair = os::SeqPacketPair();
    EXPECT_TRUE(pair.ok());
    near_runner_ = std::move(pair->first);
    runner = std::move(pair->second);
  }
  Pipe kill_jail = MakePipe();
  Pipe kill_run = MakePipe();
  near_kill_jail_ = std::move(kill_jail.write);
  near_kill_run_ = std::move(kill_run.write);
  kill_jail_ = std::move(kill_jail.read);
  kill_run_ = std::move(kill_run.read);
  events_ = NewFile(directory + "/events", "");
  WriteEvents(true);
  NewFile(directory + "/memory.events", "max 0\noom_kill 0\n");
  NewFile(directory + "/memory.peak", "1048576\n");
  NewFile(directory + "/memory.stat", "anon 65536\nfile 0\n");
  NewFile(directory + "/pids.events", "max 0\n");
  NewFile(directory + "/pids.current", "2\n");
  NewFile(directory + "/pids.peak", "2\n");
  NewFile(directory + "/cpu.stat", "user_usec 10\nsystem_usec 10\n");
  NewFile(directory + "/run/cpu.stat", "user_usec 10\nsystem_usec 10\n");
  NewFile(directory + "/run/cgroup.procs", "2\n");
  groups_.reset(::open(directory.c_str(), O_DIRECTORY | O_CLOEXEC));
  pidfd_.reset(::eventfd(0, EFD_CLOEXEC));
  kernel_ = std::thread([this] { Kernel(); });
}

FarEnd::~FarEnd() {
  over_ = true;
  kernel_.join();
}

void FarEnd::WriteEvents(bool populated) {
  const std::string text =
      absl::StrCat("populated ", populated ? 1 : 0, "\nfrozen 0\n");
  EXPECT_EQ(::pwrite(events_.get(), text.data(), text.size(), 0),
            static_cast<ssize_t>(text.size()));
}

void FarEnd::Kernel() {
  while (!over_ && !jail_killed_) {
    struct pollfd fds[] = {{kill_jail_.get(), POLLIN, 0},
                           {run_killed_ ? -1 : kill_run_.get(), POLLIN, 0}};
    ::poll(fds, 2, 5);
    if (fds[0].revents == 0 && (fds[1].revents & POLLIN) == 0) continue;
    WriteEvents(false);
    run_killed_ = true;
    // The handle's end kills it, too, before its descriptors go.
    if ((fds[0].revents & POLLIN) != 0) kill_written_ = true;
    if (fds[0].revents != 0) jail_killed_ = true;
  }
}

void FarEnd::AwaitTrue(const std::atomic<bool>& flag) const {
  const absl::Time end = absl::Now() + kPatience;
  while (!flag && absl::Now() < end) absl::SleepFor(absl::Milliseconds(1));
}

internal::SpawnerEvent FarEnd::Created(std::vector<int>& fds) {
  internal::SpawnerEvent event;
  internal::JailCreated& created = *event.mutable_created();
  created.set_jail_id(id_);
  const auto add = [&](internal::FdRole role, const os::Fd& fd) {
    created.add_roles(role);
    fds.push_back(fd.get());
  };
  add(internal::FD_ROLE_INIT_PIDFD, pidfd_);
  add(internal::FD_ROLE_CONTROL, near_control_);
  add(internal::FD_ROLE_KILL_JAIL, near_kill_jail_);
  add(internal::FD_ROLE_KILL_RUN, near_kill_run_);
  add(internal::FD_ROLE_RUN_EVENTS, events_);
  add(internal::FD_ROLE_FREEZE_RUN, events_);  // never written to
  add(internal::FD_ROLE_CGROUP_V2, groups_);
  add(internal::FD_ROLE_NETLINK_SOCKETS, events_);  // as good as empty
  if (near_runner_.valid()) add(internal::FD_ROLE_RUNNER, near_runner_);
  return event;
}

void FarEnd::ForgetNearEnd() {
  near_control_.reset();
  near_runner_.reset();
  near_kill_jail_.reset();
  near_kill_run_.reset();
}

bool FarEnd::SendOn(const os::Fd& socket, const std::string& data,
                    const std::vector<int>& fds) {
  while (!jail_killed_) {
    const bool sent = os::SendDatagram(socket.get(), data, fds, MSG_DONTWAIT);
    if (sent) return true;
    // ETOOMANYREFS: the daemon hasn't taken the descriptors sent before.
    if (errno != EAGAIN && errno != ETOOMANYREFS) return false;
    struct pollfd fd = {socket.get(), POLLOUT, 0};
    ::poll(&fd, 1, 5);
  }
  return false;
}

bool FarEnd::SendBytes(const std::string& data, const std::vector<int>& fds) {
  return SendOn(control, data, fds);
}

bool FarEnd::SendAsRunner(const std::string& data,
                          const std::vector<int>& fds) {
  return SendOn(runner, data, fds);
}

bool FarEnd::Send(const internal::InitEvent& event,
                  const std::vector<int>& fds) {
  return SendBytes(event.SerializeAsString(), fds);
}

bool FarEnd::Ready() {
  in = MakePipe(O_NONBLOCK);
  out = MakePipe(O_NONBLOCK);
  err = MakePipe(O_NONBLOCK);
  const os::Fd tmp = OpenPath("/dev/shm");
  internal::InitEvent event;
  event.mutable_ready();
  const bool sent = Send(event, {in.write.get(), out.read.get(), err.read.get(),
                                 tmp.get(), tmp.get()});
  in.write.reset();
  out.read.reset();
  err.read.reset();
  return sent;
}

bool FarEnd::Started(int64_t monotonic_ns) {
  internal::InitEvent event;
  event.mutable_started()->set_monotonic_ns(monotonic_ns);
  return Send(event);
}

bool FarEnd::Exited(int wait_status, int64_t monotonic_ns) {
  internal::InitEvent event;
  event.mutable_exited()->set_wait_status(wait_status);
  event.mutable_exited()->set_monotonic_ns(monotonic_ns);
  return Send(event);
}

bool FarEnd::File(const std::string& path, int problem, int fd) {
  internal::InitEvent event;
  event.mutable_file()->set_path(path);
  event.mutable_file()->set_problem(problem);
  if (fd >= 0) return Send(event, {fd});
  return Send(event);
}

bool FarEnd::CollectDone(bool truncated) {
  internal::InitEvent event;
  event.mutable_collect_done()->set_truncated(truncated);
  return Send(event);
}

bool FarEnd::ReadyAndStarted() {
  return Ready() && AwaitRequest().has_value() && Started();
}

std::optional<internal::InitRequest> FarEnd::AwaitRequest() {
  while (!jail_killed_) {
    struct pollfd fd = {control.get(), POLLIN, 0};
    if (::poll(&fd, 1, 5) <= 0) continue;
    auto packet = os::ReceivePacket(control.get(), os::Wait::kNo);
    if (absl::IsNotFound(packet.status())) continue;
    internal::InitRequest request;
    if (!packet.ok() || !request.ParseFromString(packet->data)) break;
    return request;
  }
  return std::nullopt;
}

FakeYard::FakeYard(const std::string& kind, Attack attack)
    : with_runner_(kind != sandbox::kExecKind), attack_(std::move(attack)) {
  char name[] = "/tmp/sandglass-protocol-XXXXXX";
  directory_ = ::mkdtemp(name);
  auto channel = os::SeqPacketPair();
  EXPECT_TRUE(channel.ok());
  channel_ = std::move(channel->second);
  sandbox::Yard yard;
  yard.channel = std::move(channel->first);
  // Readable: a spawner that has ended, and is no child of ours.
  yard.pidfd.reset(::eventfd(1, EFD_CLOEXEC));
  yard.pid = ::getpid();
  sandbox_ = std::make_unique<sandbox::Sandbox>();
  sandbox_->Adopt(kind, std::move(yard), with_runner_, 64);
  spawner_ = std::thread([this] { Spawn(); });
  EXPECT_TRUE(sandbox_
                  ->StartReader([](const absl::Status& status) {
                    ADD_FAILURE() << "the yard's channel broke: " << status;
                  })
                  .ok());
}

FakeYard::~FakeYard() {
  sandbox_.reset();
  spawner_.join();
  for (std::thread& init : inits_) init.join();
  std::filesystem::remove_all(directory_);
}

void FakeYard::Abort() {
  const absl::MutexLock lock(&mutex_);
  for (const std::weak_ptr<FarEnd>& each : ends_) {
    if (const std::shared_ptr<FarEnd> end = each.lock()) end->Abort();
  }
}

void FakeYard::Spawn() {
  for (;;) {
    auto packet = os::ReceivePacket(channel_.get(), os::Wait::kYes);
    internal::SpawnerRequest request;
    if (!packet.ok() || !request.ParseFromString(packet->data)) return;
    if (request.has_take_stock()) {
      internal::SpawnerEvent stock;
      stock.mutable_stock();
      (void)os::SendPacket(channel_.get(), stock.SerializeAsString(), {},
                           os::Wait::kYes);
      continue;
    }
    const uint64_t id = request.create().jail_id();
    auto end = std::make_shared<FarEnd>(id, with_runner_, directory_);
    {
      const absl::MutexLock lock(&mutex_);
      ends_.push_back(end);
    }
    std::vector<int> fds;
    const internal::SpawnerEvent event = end->Created(fds);
    (void)os::SendPacket(channel_.get(), event.SerializeAsString(), fds,
                         os::Wait::kYes);
    end->ForgetNearEnd();
    ++made_;
    inits_.emplace_back([this, id, end = std::move(end)]() mutable {
      attack_(*end);
      end->AwaitJailKill();
      if (end->kill_written()) ++killed_;
      end.reset();
      internal::SpawnerEvent gone;
      gone.mutable_gone()->set_jail_id(id);
      (void)os::SendPacket(channel_.get(), gone.SerializeAsString(), {},
                           os::Wait::kYes);
    });
  }
}

}  // namespace sandglass::server
