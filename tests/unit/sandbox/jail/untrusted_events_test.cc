// What the daemon takes from jails and yards that say more than they have to.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "internal/spawner.pb.h"
#include "sandbox/jail/jail.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/wire/egress_ports.h"
#include "sandbox/yard/spawner_event.h"

namespace sandglass::sandbox {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

os::Fd Null() { return os::Fd(::open("/dev/null", O_RDWR | O_CLOEXEC)); }

// A jail whose init is the test.
class UntrustedInit : public ::testing::Test {
 protected:
  UntrustedInit() {
    auto pair = os::SeqPacketPair();
    EXPECT_TRUE(pair.ok());
    init_ = std::move(pair->second);
    Jail::Parts parts;
    parts.control = std::move(pair->first);
    jail_.emplace(std::move(parts));
  }

  absl::StatusOr<std::optional<JailEvent>> Say(
      const internal::InitEvent& event) {
    const absl::Status sent = os::SendPacket(
        init_.get(), event.SerializeAsString(), {}, os::Wait::kNo);
    if (!sent.ok()) return sent;
    return jail_->NextEvent();
  }
  // How often it is listened to, up to `max` times.
  int SayAgain(const internal::InitEvent& event, int max) {
    for (int i = 0; i < max; ++i) {
      if (!Say(event).ok()) return i;
    }
    return max;
  }

  os::Fd init_;
  std::optional<Jail> jail_;
};

TEST_F(UntrustedInit, IsNotListenedToForEver) {
  internal::InitEvent event;
  event.mutable_raised();
  EXPECT_LT(SayAgain(event, 1000), 100);
}

internal::RefusedCall RefusedOnce(int number) {
  internal::RefusedCall call;
  call.set_number(number);
  for (int i = 0; i < 3; ++i) call.add_arguments(0);
  call.set_count(1);
  return call;
}

TEST_F(UntrustedInit, TellsRefusedCallsOnlyWhereTheyAreTraced) {
  internal::RefusedCalls calls;
  *calls.add_calls() = RefusedOnce(1);
  calls.set_others(7);
  RefusedCalls read;
  ASSERT_TRUE(ReadRefused(calls, read));
  ASSERT_EQ(read.calls.size(), 1u);
  EXPECT_EQ(read.calls[0].number, 1);
  EXPECT_EQ(read.others, 7u);
  internal::InitEvent event;
  event.mutable_ready();
  (void)Say(event);
  *event.mutable_exited()->mutable_refused() = calls;
  const auto taken = Say(event);
  // Before a program started its end is the jail's; in no case is it one with
  // refused calls.
  if (taken.ok() && taken->has_value()) {
    EXPECT_FALSE(std::holds_alternative<ExitedEvent>(**taken));
  }
}

TEST(ReadRefused, BoundsWhatInitReports) {
  internal::RefusedCalls calls;
  for (size_t i = 0; i < kMaxRefusedCalls; ++i) {
    *calls.add_calls() = RefusedOnce(static_cast<int>(i));
  }
  RefusedCalls read;
  EXPECT_TRUE(ReadRefused(calls, read));
  *calls.add_calls() = RefusedOnce(-1);
  EXPECT_FALSE(ReadRefused(calls, read));
  for (const int arguments : {0, 2, 4}) {
    internal::RefusedCalls odd;
    internal::RefusedCall& call = *odd.add_calls();
    for (int i = 0; i < arguments; ++i) call.add_arguments(1);
    EXPECT_FALSE(ReadRefused(odd, read)) << arguments;
  }
}

TEST_F(UntrustedInit, ReportsNoMoreStepsThanAJailHas) {
  internal::InitEvent event;
  for (int i = 0; i < 10'000; ++i) {
    event.mutable_raised()->add_steps()->set_step(i % kSetupStepCount);
  }
  EXPECT_FALSE(Say(event).ok());
  EXPECT_LT(jail_->steps().size(), 1000u);
}

TEST_F(UntrustedInit, HandsOutNoMoreFilesThanWereAskedFor) {
  internal::InitEvent event;
  event.mutable_file()->set_path("x");
  event.mutable_file()->set_problem(static_cast<int>(FileProblem::kNotFound));
  ASSERT_TRUE(jail_->CollectFiles({"*", "y"}, 5).ok());
  for (int i = 0; i < 7; ++i) {
    event.mutable_file()->set_path(absl::StrCat("x", i));
    EXPECT_TRUE(Say(event).ok()) << i;
  }
  event.mutable_file()->set_path("y");
  EXPECT_FALSE(Say(event).ok());
}

TEST_F(UntrustedInit, HandsOutNoFileTwice) {
  internal::InitEvent event;
  event.mutable_file()->set_path("x");
  event.mutable_file()->set_problem(static_cast<int>(FileProblem::kNotFound));
  ASSERT_TRUE(jail_->CollectFiles({"*"}, 5).ok());
  EXPECT_EQ(SayAgain(event, 5), 1);
}

TEST_F(UntrustedInit, HandsOutNoFileUnasked) {
  internal::InitEvent event;
  event.mutable_file()->set_path("x");
  event.mutable_file()->set_problem(static_cast<int>(FileProblem::kNotFound));
  EXPECT_FALSE(Say(event).ok());
}

TEST_F(UntrustedInit, NamesNoProblemThatThereIsNot) {
  internal::InitEvent event;
  event.mutable_file()->set_path("x");
  event.mutable_file()->set_problem(77);
  ASSERT_TRUE(jail_->CollectFiles({"*"}, 5).ok());
  EXPECT_FALSE(Say(event).ok());
}

os::Packet Created(const std::vector<internal::FdRole>& roles,
                   const std::vector<std::pair<int, uint64_t>>& steps) {
  os::Packet packet;
  internal::SpawnerEvent event;
  internal::JailCreated& created = *event.mutable_created();
  created.set_jail_id(7);
  for (const internal::FdRole role : roles) {
    created.add_roles(role);
    packet.fds.push_back(Null());
  }
  for (const auto& [step, nanoseconds] : steps) {
    created.add_steps()->set_step(step);
    created.mutable_steps()->rbegin()->set_nanoseconds(nanoseconds);
  }
  packet.data = event.SerializeAsString();
  return packet;
}

const std::vector<internal::FdRole> kEnough = {
    internal::FD_ROLE_INIT_PIDFD, internal::FD_ROLE_CONTROL,
    internal::FD_ROLE_KILL_JAIL,  internal::FD_ROLE_KILL_RUN,
    internal::FD_ROLE_RUN_EVENTS, internal::FD_ROLE_FREEZE_RUN,
    internal::FD_ROLE_CGROUP_V2,  internal::FD_ROLE_NETLINK_SOCKETS};

TEST_F(UntrustedInit, FailsOnce) {
  internal::InitEvent failed;
  failed.mutable_failed()->set_step(1);
  const absl::StatusOr<std::optional<JailEvent>> first = Say(failed);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(std::holds_alternative<FailedEvent>(**first));
  EXPECT_FALSE(Say(failed).ok());
}

TEST(UntrustedSpawner, HandsOverAJail) {
  absl::StatusOr<SpawnerNews> news =
      ReadSpawnerEvent(Created(kEnough, {{0, 5000}}));
  ASSERT_TRUE(news.ok()) << news.status();
  const auto& answer = std::get<JailAnswered>(*news);
  EXPECT_EQ(answer.jail_id, 7u);
  ASSERT_TRUE(answer.parts.ok());
  ASSERT_EQ(answer.parts->steps.size(), 1u);
  EXPECT_EQ(answer.parts->steps[0].duration, absl::Microseconds(5));
}

TEST(UntrustedSpawner, HandsOverNoJailThatCantBeKilledOrMeasured) {
  for (size_t left_out = 0; left_out < kEnough.size(); ++left_out) {
    std::vector<internal::FdRole> roles = kEnough;
    roles.erase(roles.begin() + static_cast<ptrdiff_t>(left_out));
    EXPECT_FALSE(ReadSpawnerEvent(Created(roles, {})).ok()) << left_out;
  }
}

TEST(UntrustedSpawner, NamesNoStepThatThereIsNot) {
  EXPECT_FALSE(ReadSpawnerEvent(Created(kEnough, {{-1, 1}})).ok());
  EXPECT_FALSE(ReadSpawnerEvent(Created(kEnough, {{kSetupStepCount, 1}})).ok());
}

TEST(UntrustedSpawner, TellsNoTimeThatIsNone) {
  EXPECT_FALSE(ReadSpawnerEvent(Created(kEnough, {{0, ~uint64_t{0}}})).ok());
}

// Of the egress proxy's doors, behind all else that a jail has.
bool TakesDoors(const std::vector<internal::FdRole>& doors) {
  std::vector<internal::FdRole> roles = kEnough;
  roles.insert(roles.end(), doors.begin(), doors.end());
  absl::StatusOr<SpawnerNews> news = ReadSpawnerEvent(Created(roles, {}));
  if (!news.ok()) return false;
  const auto& answer = std::get<JailAnswered>(*news);
  return answer.parts.ok() && answer.parts->doors.size() == doors.size();
}

TEST(UntrustedSpawner, HandsOverDoorsInTheirOrderOnly) {
  constexpr auto kProxy = internal::FD_ROLE_EGRESS_PROXY;
  constexpr auto kDns = internal::FD_ROLE_EGRESS_DNS;
  constexpr auto kPort = internal::FD_ROLE_EGRESS_PORT;
  EXPECT_TRUE(TakesDoors({}));
  EXPECT_TRUE(TakesDoors({kProxy, kDns}));
  EXPECT_TRUE(TakesDoors({kProxy, kDns, kPort}));
  EXPECT_FALSE(TakesDoors({kDns, kProxy}));
  EXPECT_FALSE(TakesDoors({kPort}));
  EXPECT_FALSE(TakesDoors({kProxy, kPort}));
  EXPECT_FALSE(TakesDoors({kProxy, kProxy}));
  EXPECT_FALSE(TakesDoors({kProxy, kDns, kDns}));
}

TEST(UntrustedSpawner, HandsOverNoMoreDoorsThanAJailHas) {
  std::vector<internal::FdRole> doors = {internal::FD_ROLE_EGRESS_PROXY,
                                         internal::FD_ROLE_EGRESS_DNS};
  doors.insert(doors.end(), kMaxServedPorts, internal::FD_ROLE_EGRESS_PORT);
  EXPECT_TRUE(TakesDoors(doors));
  doors.push_back(internal::FD_ROLE_EGRESS_PORT);
  EXPECT_FALSE(TakesDoors(doors));
}

absl::StatusOr<YardStock> ReadStock(const internal::YardStock& told) {
  internal::SpawnerEvent event;
  *event.mutable_stock() = told;
  absl::StatusOr<SpawnerNews> news =
      ReadSpawnerEvent({.data = event.SerializeAsString()});
  if (!news.ok()) return news.status();
  return std::get<YardStock>(*std::move(news));
}

TEST(UntrustedSpawner, TellsItsStock) {
  internal::YardStock told;
  EXPECT_TRUE(ReadStock(told).ok());
  told.set_jails(1);
  told.set_spares(2);
  told.set_ending(3);
  told.set_longest_ending_ms(4);
  told.set_groups(6);
  told.set_stray_groups(5);
  told.set_processes(7);
  told.set_open_descriptors(8);
  told.set_mounts(9);
  told.set_zygote_starts(11);
  told.set_zygote_deaths(10);
  told.set_zygote_serves(true);
  told.set_setup_failures(12);
  told.set_failing("no\x1b room");
  const absl::StatusOr<YardStock> stock = ReadStock(told);
  ASSERT_TRUE(stock.ok()) << stock.status();
  EXPECT_EQ(stock->kind, "");
  EXPECT_EQ(stock->jails, 1u);
  EXPECT_EQ(stock->spares, 2u);
  EXPECT_EQ(stock->ending, 3u);
  EXPECT_EQ(stock->longest_ending, absl::Milliseconds(4));
  EXPECT_EQ(stock->groups, 6u);
  EXPECT_EQ(stock->stray_groups, 5u);
  EXPECT_EQ(stock->processes, 7u);
  EXPECT_EQ(stock->open_descriptors, 8u);
  EXPECT_EQ(stock->mounts, 9u);
  EXPECT_EQ(stock->zygote_starts, 11u);
  EXPECT_EQ(stock->zygote_deaths, 10u);
  EXPECT_TRUE(stock->zygote_serves);
  EXPECT_EQ(stock->setup_failures, 12u);
  EXPECT_EQ(stock->failing, "no\\x1b room");
}

TEST(UntrustedSpawner, TellsNoStockThatNoYardHas) {
  const auto refuses = [](const auto& set) {
    internal::YardStock told;
    set(told);
    return !ReadStock(told).ok();
  };
  EXPECT_TRUE(refuses([](auto& told) { told.set_jails(~0u); }));
  EXPECT_TRUE(refuses([](auto& told) { told.set_spares(4097); }));
  EXPECT_TRUE(refuses([](auto& told) {
    told.set_jails(2000);
    told.set_ending(2097);
  }));
  EXPECT_TRUE(
      refuses([](auto& told) { told.set_longest_ending_ms(~uint64_t{0}); }));
  EXPECT_TRUE(refuses([](auto& told) { told.set_stray_groups(1); }));
  EXPECT_TRUE(refuses([](auto& told) { told.set_zygote_deaths(1); }));
  EXPECT_TRUE(refuses([](auto& told) { told.set_failing("why"); }));
  EXPECT_TRUE(refuses([](auto& told) {
    told.set_setup_failures(1);
    told.set_failing(std::string(kMaxFailingBytes + 1, 'x'));
  }));
}

TEST(UntrustedSpawner, SaysWhetherAYardOrTheMachineHasNoRoom) {
  const auto read = [](const internal::SpawnerEvent& event) {
    absl::StatusOr<SpawnerNews> news =
        ReadSpawnerEvent({event.SerializeAsString(), {}});
    EXPECT_TRUE(news.ok()) << news.status();
    return std::move(std::get<JailAnswered>(*news));
  };
  internal::SpawnerEvent event;
  event.mutable_created()->set_no_slot(true);
  EXPECT_TRUE(read(event).no_slot);
  event.mutable_created()->set_no_slot(false);
  event.mutable_created()->mutable_failure()->set_error(EAGAIN);
  const JailAnswered failed = read(event);
  EXPECT_FALSE(failed.no_slot);
  EXPECT_THAT(std::string(failed.parts.status().message()),
              HasSubstr("no room"));
}

TEST(SetupFailure, IsWorthAnotherTryWhereTheMachineHasNoRoom) {
  const int step = static_cast<int>(SetupStep::kCloneInit);
  for (const int error : {EAGAIN, EMFILE, ENFILE, ENOSPC, ENOMEM, ENOBUFS}) {
    const absl::Status status = SetupFailure(step, error);
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("clone_init: "), HasSubstr("no room")));
    EXPECT_EQ(IsWantOfMemory(status), error == ENOMEM);
  }
  // Memory may have been the run's own.
  EXPECT_THAT(std::string(SetupFailure(step, ENOMEM).message()),
              HasSubstr("limits.memory_bytes"));
  for (const int error : {EPERM, EBADF, EINVAL}) {
    EXPECT_TRUE(absl::IsInternal(SetupFailure(step, error)));
  }
  EXPECT_THAT(std::string(SetupFailure(-1, EPERM).message()),
              HasSubstr("unknown_step"));
}

}  // namespace
}  // namespace sandglass::sandbox
