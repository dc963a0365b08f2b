// Messages whose descriptors find no room in the process that takes them: each
// is one failed answer, and its channel goes on.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "internal/files.pb.h"
#include "internal/spawner.pb.h"
#include "sandbox/files/file_agent_client.h"
#include "sandbox/jail/session_jail.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/wire/descriptor_room.h"
#include "sandbox/yard/yard_port.h"

namespace sandglass::sandbox {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Lets this process open no more than `room` further descriptors.
class FewDescriptors {
 public:
  explicit FewDescriptors(int room = 0) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    std::vector<os::Fd> taken;
    for (int i = 0; i <= room; ++i) taken.emplace_back(::dup(0));
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(taken.back().get());
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_ = {};
};

std::pair<os::Fd, os::Fd> Channel() {
  auto pair = os::SeqPacketPair();
  EXPECT_TRUE(pair.ok());
  return *std::move(pair);
}

absl::Status Say(const os::Fd& socket, const std::string& text,
                 const std::vector<int>& fds) {
  return os::SendPacket(socket.get(), text, fds, os::Wait::kNo);
}

TEST(DescriptorsLost, APacketComesWithoutAnyAndTheNextIsWhole) {
  const auto [here, there] = Channel();
  for (const int room : {0, 1, 2}) {
    ASSERT_TRUE(Say(there, "first", {0, 0, 0}).ok());
    ASSERT_TRUE(Say(there, "second", {0}).ok());
    std::vector<os::Fd> refused;
    absl::StatusOr<os::Packet> packet;
    {
      const FewDescriptors few(room);
      packet = os::ReceivePacket(here.get(), os::Wait::kNo, &refused);
    }
    ASSERT_TRUE(packet.ok()) << packet.status();
    EXPECT_EQ(packet->data, "first");
    EXPECT_TRUE(packet->lost_fds);
    EXPECT_THAT(packet->fds, IsEmpty());
    // What did come isn't kept from who closes such things aside.
    EXPECT_THAT(refused, SizeIs(room));
    packet = os::ReceivePacket(here.get(), os::Wait::kNo);
    ASSERT_TRUE(packet.ok()) << packet.status();
    EXPECT_EQ(packet->data, "second");
    EXPECT_FALSE(packet->lost_fds);
    EXPECT_THAT(packet->fds, SizeIs(1));
  }
}

TEST(DescriptorsLost, AreNotTakenForTooManyOrTooMuch) {
  const auto [here, there] = Channel();
  ASSERT_TRUE(Say(there, "only", {0}).ok());
  const FewDescriptors few;
  char text[16];
  std::vector<os::Fd> fds;
  EXPECT_EQ(os::ReceiveDatagram(here.get(), text, sizeof(text), fds), -1);
  EXPECT_EQ(errno, EMFILE);
}

// The test is the spawner.
class YardOfAFullServer : public ::testing::Test {
 protected:
  YardOfAFullServer() {
    auto [here, there] = Channel();
    spawner_ = std::move(there);
    Yard yard;
    yard.channel = std::move(here);
    yard.pidfd.reset(::eventfd(1, EFD_CLOEXEC));
    yard.pid = ::getpid();
    port_ = std::make_unique<YardPort>(std::move(yard), false, 4, false);
    EXPECT_TRUE(
        port_->StartReader([this](const absl::Status&) { died_.Notify(); })
            .ok());
  }

  absl::StatusOr<std::unique_ptr<Jail>> Create() {
    return port_->CreateJail("default", {}, absl::Seconds(20), FillFor::kRun,
                             "");
  }
  internal::SpawnerRequest Asked() {
    internal::SpawnerRequest request;
    const auto packet = os::ReceivePacket(spawner_.get(), os::Wait::kYes);
    EXPECT_TRUE(packet.ok() && request.ParseFromString(packet->data));
    return request;
  }

  os::Fd spawner_;
  absl::Notification died_;
  std::unique_ptr<YardPort> port_;
};

TEST_F(YardOfAFullServer, RefusesTheOneCallAndCountsItsJailUntilItIsGone) {
  absl::Status answer;
  std::thread caller([&] { answer = Create().status(); });
  const uint64_t id = Asked().create().jail_id();
  auto [control, init] = Channel();
  {
    internal::SpawnerEvent event;
    event.mutable_created()->set_jail_id(id);
    std::vector<int> fds;
    for (int i = 0; i < 12; ++i) {
      event.mutable_created()->add_roles(internal::FD_ROLE_CONTROL);
      fds.push_back(control.get());
    }
    const FewDescriptors few(3);
    ASSERT_TRUE(Say(spawner_, event.SerializeAsString(), fds).ok());
    control.reset();
    caller.join();
  }
  EXPECT_TRUE(absl::IsResourceExhausted(answer)) << answer;
  EXPECT_THAT(answer.message(), HasSubstr("open files"));
  // Nobody holds its other end any more: an init sees that and ends.
  EXPECT_TRUE(absl::IsOutOfRange(
      os::ReceivePacket(init.get(), os::Wait::kYes).status()));
  // The spawner still has it.
  EXPECT_EQ(port_->live_jails(), 1u);
  internal::SpawnerEvent gone;
  gone.mutable_gone()->set_jail_id(id);
  ASSERT_TRUE(Say(spawner_, gone.SerializeAsString(), {}).ok());
  EXPECT_TRUE(port_->WaitUntilEmpty(absl::Seconds(20)));
  EXPECT_FALSE(died_.HasBeenNotified());
}

TEST_F(YardOfAFullServer, AsksForNothingThatItCouldNotHold) {
  {
    const FewDescriptors few(40);
    const absl::Status refused = Create().status();
    EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
    EXPECT_THAT(refused.message(), HasSubstr("LimitNOFILE"));
  }
  EXPECT_EQ(port_->live_jails(), 0u);
  EXPECT_TRUE(absl::IsNotFound(
      os::ReceivePacket(spawner_.get(), os::Wait::kNo).status()));
}

TEST(RoomForDescriptors, IsHeldUntilItIsFilled) {
  const uint64_t before = OpenDescriptors();
  EXPECT_GT(before, 3u);
  const uint64_t reserve = DescriptorReserve(RoomFor::kJail, before + 200);
  // For two jails and no third.
  const FewDescriptors few(
      static_cast<int>(reserve + 2 * kJailDescriptors + 4));
  auto first = DescriptorRoom::Find(RoomFor::kJail);
  ASSERT_TRUE(first.ok()) << first.status();
  {
    const auto second = DescriptorRoom::Find(RoomFor::kJail);
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_FALSE(DescriptorRoom::Find(RoomFor::kJail).ok());
    // What is there already still has some.
    EXPECT_TRUE(DescriptorRoom::Find(RoomFor::kCommand).ok());
  }
  EXPECT_TRUE(DescriptorRoom::Find(RoomFor::kJail).ok());
  EXPECT_FALSE(DescriptorRoom::Find(RoomFor::kStock).ok());
}

// Before the sanitizer says whether an object has the type that it should, it
// looks at the memory through a pipe; where there is no descriptor for one, it
// finds every object wrong.
constexpr bool SanitizerNeedsDescriptors() {
#ifdef __SANITIZE_ADDRESS__
  return true;
#else
  return false;
#endif
}

class SessionOfAFullServer : public ::testing::Test {
 protected:
  void SetUp() override {
    if (SanitizerNeedsDescriptors()) GTEST_SKIP() << "not under the sanitizer";
  }
  SessionOfAFullServer() {
    auto [here, there] = Channel();
    init_ = std::move(there);
    Jail::Parts parts;
    parts.control = std::move(here);
    session_ =
        std::make_unique<SessionJail>(std::make_unique<Jail>(std::move(parts)));
  }

  void Ask(uint64_t id) {
    ASSERT_TRUE(session_->Spawn(id, {.argv = {"/bin/true"}}).ok());
    EXPECT_TRUE(Asked().has_spawn());
  }
  internal::InitRequest Asked() {
    internal::InitRequest request;
    const auto packet = os::ReceivePacket(init_.get(), os::Wait::kNo);
    EXPECT_TRUE(packet.ok()) << packet.status();
    EXPECT_TRUE(packet.ok() && request.ParseFromString(packet->data));
    return request;
  }
  internal::InitEvent Spawned(uint64_t id) {
    internal::InitEvent event;
    event.mutable_spawned()->set_process_id(id);
    event.mutable_spawned()->set_pid(7);
    return event;
  }
  internal::InitEvent Exited(uint64_t id) {
    internal::InitEvent event;
    event.mutable_process_exited()->set_process_id(id);
    return event;
  }

  os::Fd init_;
  std::unique_ptr<SessionJail> session_;
};

TEST_F(SessionOfAFullServer, LosesTheOneProcessAndHasItEnded) {
  Ask(1);
  Ask(2);
  {
    const FewDescriptors few(2);
    ASSERT_TRUE(
        Say(init_, Spawned(1).SerializeAsString(), {0, 0, 0, 0, 0, 0}).ok());
    const auto event = session_->NextEvent();
    ASSERT_TRUE(event.ok()) << event.status();
    ASSERT_TRUE(event->has_value());
    const auto* failed = std::get_if<SpawnFailedEvent>(&**event);
    ASSERT_NE(failed, nullptr);
    EXPECT_EQ(failed->id, 1u);
    EXPECT_EQ(failed->error, EMFILE);
    EXPECT_FALSE(failed->IsCallersMistake());
  }
  const internal::InitRequest request = Asked();
  ASSERT_TRUE(request.has_end_process());
  EXPECT_EQ(request.end_process().process_id(), 1u);
  // Its end was told of already.
  ASSERT_TRUE(Say(init_, Exited(1).SerializeAsString(), {}).ok());
  const auto silent = session_->NextEvent();
  ASSERT_TRUE(silent.ok()) << silent.status();
  EXPECT_FALSE(silent->has_value());
  // A second end is one too many, as of any process.
  ASSERT_TRUE(Say(init_, Exited(1).SerializeAsString(), {}).ok());
  EXPECT_FALSE(session_->NextEvent().ok());
}

TEST_F(SessionOfAFullServer, KeepsRoomForAProcessUntilItsDescriptorsCome) {
  const uint64_t reserve =
      DescriptorReserve(RoomFor::kCommand, OpenDescriptors() + 200);
  // For one process and no second.
  const FewDescriptors few(static_cast<int>(reserve + kCommandDescriptors + 4));
  const auto expect_full = [this] {
    const absl::Status refused = session_->Spawn(9, {.argv = {"/bin/true"}});
    EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
    EXPECT_TRUE(absl::IsNotFound(
        os::ReceivePacket(init_.get(), os::Wait::kNo).status()));
  };
  Ask(1);
  expect_full();
  internal::InitEvent failed;
  failed.mutable_spawn_failed()->set_process_id(1);
  failed.mutable_spawn_failed()->mutable_failure()->set_step(
      static_cast<int>(SetupStep::kExec));
  failed.mutable_spawn_failed()->mutable_failure()->set_error(ENOENT);
  ASSERT_TRUE(Say(init_, failed.SerializeAsString(), {}).ok());
  ASSERT_TRUE(session_->NextEvent().ok());
  Ask(2);
  expect_full();
  {
    const FewDescriptors fewer(2);
    ASSERT_TRUE(Say(init_, Spawned(2).SerializeAsString(), {0, 0, 0}).ok());
    ASSERT_TRUE(session_->NextEvent().ok());
  }
  EXPECT_TRUE(Asked().has_end_process());
  Ask(3);
  expect_full();
  // With the session goes what it waited for.
  session_.reset();
  EXPECT_TRUE(DescriptorRoom::Find(RoomFor::kCommand).ok());
}

TEST_F(SessionOfAFullServer, GetsNoFileAgentAndCanAskAgain) {
  internal::InitEvent opened;
  opened.mutable_files_opened();
  auto [here, there] = Channel();
  for (const bool fits : {false, true}) {
    ASSERT_TRUE(session_->OpenFiles().ok());
    EXPECT_TRUE(Asked().has_open_files());
    std::optional<FewDescriptors> few;
    if (!fits) few.emplace();
    ASSERT_TRUE(Say(init_, opened.SerializeAsString(), {here.get()}).ok());
    const auto event = session_->NextEvent();
    ASSERT_TRUE(event.ok()) << event.status();
    ASSERT_TRUE(event->has_value());
    const auto* channel = std::get_if<FileChannelEvent>(&**event);
    ASSERT_NE(channel, nullptr);
    EXPECT_EQ(channel->socket.valid(), fits);
    EXPECT_EQ(channel->error, fits ? 0 : EMFILE);
  }
}

// An answer that nobody waits for is no better without its descriptors.
TEST_F(SessionOfAFullServer, IsStillTheEndForAnInitThatLies) {
  const FewDescriptors few;
  ASSERT_TRUE(Say(init_, Spawned(9).SerializeAsString(), {0}).ok());
  EXPECT_TRUE(absl::IsInternal(session_->NextEvent().status()));
}

TEST(FilesOfAFullServer, OneCallFailsAndTheAgentIsNotGivenUp) {
  if (SanitizerNeedsDescriptors()) GTEST_SKIP() << "not under the sanitizer";
  auto [here, there] = Channel();
  FileAgent agent(std::move(here));
  const FileLimits limits = {.timeout = absl::Seconds(20)};
  std::optional<FewDescriptors> few;
  std::thread end([&, socket = there.get()] {
    for (const bool fits : {false, true}) {
      const auto packet = os::ReceivePacket(socket, os::Wait::kYes);
      internal::FileRequest request;
      ASSERT_TRUE(packet.ok() && request.ParseFromString(packet->data));
      internal::FileReply reply;
      reply.set_id(request.id());
      reply.set_last(true);
      if (!fits) few.emplace();
      ASSERT_TRUE(
          os::SendPacket(socket, reply.SerializeAsString(),
                         fits ? std::vector<int>() : std::vector<int>{0},
                         os::Wait::kYes)
              .ok());
    }
  });
  const FileResult lost = agent.Open("/f", limits).result;
  few.reset();
  EXPECT_EQ(lost.code, FileCode::kBusy);
  EXPECT_EQ(lost.error, EMFILE);
  EXPECT_TRUE(agent.alive());
  EXPECT_TRUE(agent.Stat("/f", FileAgent::Links::kFollow, limits).result.ok());
  end.join();
}

}  // namespace
}  // namespace sandglass::sandbox
