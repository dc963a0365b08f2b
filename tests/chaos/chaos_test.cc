// Things go wrong under load, one after another and two at once. After each
// what clients were told holds, nothing is left and the daemon serves again.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "tests/chaos/faults.h"
#include "tests/chaos/mixed_load.h"
#include "tests/chaos/world.h"
#include "tests/support/matchers.h"
#include "tests/support/slowdown.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using ::testing::IsEmpty;

// The promise, for a machine that does nothing else.
constexpr absl::Duration kHealthyAgain = absl::Seconds(5);
// Here nine clients go on all the time.
constexpr int kUnderLoad = 3;
constexpr absl::Duration kBefore = absl::Milliseconds(500);
constexpr absl::Duration kMeanwhile = absl::Milliseconds(1500);
constexpr int kMixSeconds = 20;

void Let(absl::Duration pass) {
  WaitUntil([] { return false; }, pass);
}

int MixSeconds() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* text = std::getenv("SANDGLASS_CHAOS_SECONDS");
  int seconds = 0;
  return text != nullptr && absl::SimpleAtoi(text, &seconds) && seconds > 0
             ? seconds
             : kMixSeconds;
}

class Chaos : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    world_ = std::make_unique<ChaosWorld>();
    started_ = world_->Start();
  }
  static void TearDownTestSuite() {
    if (started_.ok()) {
      const absl::Status stopped = world_->Stop();
      EXPECT_TRUE(stopped.ok()) << stopped.message();
    }
    world_.reset();
  }
  void SetUp() override { ASSERT_TRUE(started_.ok()) << started_.message(); }
  void TearDown() override {
    if (started_.ok() && HasFailure()) {
      std::cerr << "--- end of the daemon's log:\n"
                << world().daemon().LogTail(20) << "\n";
    }
  }

  static ChaosWorld& world() { return *world_; }

  // The faults begin one after the other, go on together for a while, and end;
  // all that is promised is then looked for.
  void Suffer(const std::vector<Fault>& faults) {
    std::string names;
    bool ends_daemon = false;
    std::set<v1::Outcome> outcomes;
    std::set<grpc::StatusCode> codes;
    for (const Fault& fault : faults) {
      outcomes.insert(fault.outcomes.begin(), fault.outcomes.end());
      codes.insert(fault.codes.begin(), fault.codes.end());
      absl::StrAppend(&names, names.empty() ? "" : " and ", fault.name);
      ends_daemon |= fault.ends_daemon;
    }
    // Jails die with the daemon; it says so where it still can.
    if (ends_daemon) {
      outcomes.insert({v1::OUTCOME_JAIL_FAILED, v1::OUTCOME_SHUTDOWN});
      codes.insert({grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::CANCELLED,
                    grpc::StatusCode::NOT_FOUND, grpc::StatusCode::INTERNAL,
                    grpc::StatusCode::RESOURCE_EXHAUSTED});
    }
    SCOPED_TRACE(names);
    Ledger ledger;
    std::optional<absl::Duration> healthy;
    {
      MixedLoad load(world().daemon().address(), ledger);
      Let(kBefore);
      world().daemon().Remember();
      const bool alone = faults.size() == 1;
      for (const Fault& fault : faults) {
        const bool hit = fault.begin(world());
        EXPECT_TRUE(hit || !alone) << "it has hit nothing";
      }
      if (!alone || !ends_daemon) Let(kMeanwhile);
      if (alone) {
        EXPECT_TRUE(faults[0].felt(world(), ledger)) << "nobody has met it";
      }
      for (const Fault& fault : faults) fault.end(world());
      const int done = ledger.done();
      healthy = world().UntilHealthy(kHealthyAgain * kUnderLoad);
      Let(kBefore);
      EXPECT_GT(ledger.done(), done) << "nothing is answered afterwards";
    }
    EXPECT_TRUE(healthy.has_value()) << "not healthy again";
    ExpectAllWell();
    std::cout << names << ": healthy again after "
              << absl::FormatDuration(healthy.value_or(absl::ZeroDuration()))
              << "; " << ledger.done() << " calls answered, failed:";
    int shown = 0;
    for (const auto& [failure, count] : ledger.failures()) {
      if (++shown <= 12) std::cout << "\n  " << count << " x " << failure;
    }
    std::cout << "\n";
    EXPECT_THAT(ledger.wrong(), IsEmpty());
    for (const auto& [outcome, what] : ledger.ended()) {
      EXPECT_TRUE(outcomes.contains(outcome)) << what;
    }
    // Above all no DEADLINE_EXCEEDED: nothing hangs.
    for (const grpc::StatusCode code : ledger.codes()) {
      EXPECT_TRUE(codes.contains(code)) << "code " << code;
    }
    EXPECT_THAT(world().Missing(ledger), IsEmpty());
    EXPECT_THAT(world().VerifyAudit(), IsEmpty());
    EXPECT_THAT(world().Left(), IsEmpty());
    last_failures_ = ledger.failures();
  }

  // With nothing else going on: within the time that is promised all languages
  // work.
  static void ExpectAllWell() {
    EXPECT_TRUE(world().UntilHealthy(kHealthyAgain).has_value());
    Ledger ledger;
    MixedLoad::RunEach(world().daemon().client(), ledger);
    EXPECT_THAT(ledger.failures(), IsEmpty());
    EXPECT_THAT(ledger.wrong(), IsEmpty());
  }

  std::map<std::string, int> last_failures_;

 private:
  static std::unique_ptr<ChaosWorld> world_;
  static absl::Status started_;
};

std::unique_ptr<ChaosWorld> Chaos::world_;
absl::Status Chaos::started_;

TEST_F(Chaos, KilledZygotesCostNobodyAnything) {
  Suffer({KilledZygotes()});
  EXPECT_THAT(last_failures_, IsEmpty());
}

TEST_F(Chaos, TheDaemonSurvivesAKilledSpawner) { Suffer({KilledSpawner()}); }

TEST_F(Chaos, TheDaemonSurvivesAKilledServer) { Suffer({KilledServer()}); }

TEST_F(Chaos, TheDaemonSurvivesAKilledProxy) { Suffer({KilledProxy()}); }

TEST_F(Chaos, TheDaemonSurvivesAFullStateDisk) { Suffer({FullDisk(0)}); }

TEST_F(Chaos, TheDaemonSurvivesAFullCacheDisk) { Suffer({FullDisk(1)}); }

TEST_F(Chaos, TheDaemonSurvivesAFullAuditDisk) { Suffer({FullDisk(2)}); }

// What can't be saved is told, or refused.
TEST_F(Chaos, TheDaemonSurvivesAFullDiskOfDurableSessions) {
  Suffer({FullDisk(ChaosWorld::kDurableDisk)});
}

TEST_F(Chaos, TheDaemonSurvivesALackOfProcesses) { Suffer({FewProcesses()}); }

TEST_F(Chaos, TheDaemonSurvivesALackOfDescriptors) {
  Suffer({FewDescriptors()});
}

TEST_F(Chaos, FrozenJailsGoOnWhereTheyWere) {
  Suffer({FrozenJails()});
  EXPECT_THAT(last_failures_, IsEmpty());
}

TEST_F(Chaos, TheDaemonSurvivesAStoppedServer) {
  Suffer({StoppedServer()});
  EXPECT_THAT(last_failures_, IsEmpty());
}

TEST_F(Chaos, TheDaemonSurvivesABrokenPolicyAndConfiguration) {
  Suffer({BrokenPolicy()});
  EXPECT_THAT(last_failures_, IsEmpty());
}

TEST_F(Chaos, TheDaemonSurvivesClientsThatGoInMidCall) {
  Suffer({ClientsGone()});
  EXPECT_THAT(last_failures_, IsEmpty());
}

TEST_F(Chaos, TheDaemonSurvivesARemovedAuditFile) {
  Suffer({AuditFileRemoved()});
}

TEST_F(Chaos, TheDaemonSurvivesAReplacedAuditFile) {
  Suffer({AuditFileReplaced()});
}

TEST_F(Chaos, AnAuditFileThatIsAlteredIsFoundOut) {
  Suffer({AuditFileAltered()});
  EXPECT_THAT(last_failures_, IsEmpty());
}

TEST_F(Chaos, TheDaemonSurvivesARemovedAuditDirectory) {
  Suffer({AuditDirectoryRemoved()});
}

// What brings the daemon down while it can't come up again.
TEST_F(Chaos, AServerKilledWhileTheDisksAreFullComesBack) {
  Suffer({FullDisk(0), FullDisk(1), FullDisk(2), FullDisk(3), KilledServer()});
}

TEST_F(Chaos, AServerKilledDuringALackOfProcessesComesBack) {
  Suffer({FewProcesses(), KilledServer()});
}

TEST_F(Chaos, AServerKilledWhilePolicyAndConfigurationAreBrokenComesBack) {
  Suffer({BrokenPolicy(), KilledServer()});
}

// Its successor goes on with the log as it finds it; whether that is as it was
// written is for the reader to tell.
TEST_F(Chaos, AServerKilledWhileTheAuditFileIsAlteredComesBack) {
  Suffer({AuditFileAltered(), KilledServer()});
}

TEST_F(Chaos, TheDaemonSurvivesASpawnerKilledWhileClientsReadNothing) {
  Suffer({ClientsGone(), KilledSpawner()});
}

// SANDGLASS_CHAOS_SECONDS says how long.
TEST_F(Chaos, TheDaemonSurvivesFaultsOneAfterAnotherAndTwoAtOnce) {
  const unsigned seed = static_cast<unsigned>(absl::ToUnixSeconds(absl::Now()));
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  const absl::Time end = absl::Now() + absl::Seconds(MixSeconds());
  while (absl::Now() < end && !HasFailure()) {
    std::vector<Fault> faults = AllFaults();
    std::shuffle(faults.begin(), faults.end(), random);
    faults.resize(1 + random() % 2);
    Suffer(faults);
  }
}

}  // namespace
}  // namespace sandglass::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  // The suites' names are asked for while it is built, by anybody.
  if (!::testing::GTEST_FLAG(list_tests) &&
      !sandglass::testing::EnterOwnMounts()) {
    std::perror("a mount namespace of the tests' own (needs root)");
    return 1;
  }
  return RUN_ALL_TESTS();
}
