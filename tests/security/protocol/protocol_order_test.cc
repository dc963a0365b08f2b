// An init that was taken over: events out of their order, facts that can't be,
// too many of them, and none.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "server/job/one_use_job.h"
#include "tests/security/protocol/protocol_run.h"

namespace sandglass::server {
namespace {

using policy::Outcome;

constexpr int64_t kSecond = 1'000'000'000;

// ---- the order of events ----

TEST(InitOrder, ReadyTwiceEndsTheRun) {
  ExpectBroken(RunAgainst([](FarEnd& end) {
    end.Ready();
    end.Ready();
  }));
  ExpectBroken(RunAgainst([](FarEnd& end) {
    end.ReadyAndStarted();
    end.Ready();
  }));
}

TEST(InitOrder, RaisedTwiceEndsTheRun) {
  internal::InitEvent raised;
  raised.mutable_raised();
  ExpectBroken(RunAgainst([&](FarEnd& end) {
    end.Send(raised);
    end.Send(raised);
  }));
  ExpectBroken(RunAgainst([&](FarEnd& end) {
    end.ReadyAndStarted();
    end.Send(raised);
  }));
}

TEST(InitOrder, StartedTwiceEndsTheRun) {
  ExpectBroken(RunAgainst([](FarEnd& end) {
    end.ReadyAndStarted();
    end.Started();
  }));
}

TEST(InitOrder, StartedBeforeReadyEndsTheRun) {
  ExpectBroken(RunAgainst([](FarEnd& end) { end.Started(); }));
}

TEST(InitOrder, AnEndBeforeTheStartIsAnInitThatIsGone) {
  ExpectBroken(RunAgainst([](FarEnd& end) {
    end.Ready();
    end.Exited(0);
    end.Started();
  }));
}

TEST(InitOrder, FilesThatNobodyAskedForEndTheRun) {
  ExpectBroken(RunAgainst([](FarEnd& end) {
    end.ReadyAndStarted();
    end.File("result.txt", 1);
  }));
  ExpectBroken(RunAgainst([](FarEnd& end) {
    end.ReadyAndStarted();
    end.CollectDone();
  }));
}

TEST(InitOrder, TheFirstEndCounts) {
  const Ended ended = RunAgainst([](FarEnd& end) {
    end.ReadyAndStarted();
    end.Exited(3 << 8);
    for (int i = 0; i < 100; ++i) end.Exited(0);
    end.AwaitRunKill();
    end.Exited(0);  // wakes whoever waits for the group to be empty
  });
  ExpectOutcome(ended, Outcome::kNonzeroExit);
}

TEST(InitOrder, AnEndWhileProcessesLiveHasThemKilled) {
  bool run_killed = false;
  const Ended ended = RunAgainst([&](FarEnd& end) {
    end.ReadyAndStarted();
    end.Exited(0);
    end.AwaitRunKill();
    run_killed = end.run_killed();
    end.Exited(0);  // wakes whoever waits for the group to be empty
  });
  ExpectOutcome(ended, Outcome::kOk);
  EXPECT_TRUE(run_killed);
  EXPECT_EQ(ended.result->facts.leftover_processes, 1u);
}

// ---- what an end and its time can be ----

TEST(InitFacts, AWaitStatusThatIsNoEndIsTheJailsFailure) {
  for (const int status : {0x137f, 0xffff, 0x7f}) {
    SCOPED_TRACE(status);
    ExpectOutcome(RunAgainst([&](FarEnd& end) {
                    end.ReadyAndStarted();
                    end.Exited(status);
                    end.AwaitRunKill();
                    end.Exited(status);
                  }),
                  Outcome::kJailFailed);
  }
}

TEST(InitFacts, TimesAreBoundToWhatCanBe) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  for (const auto& times :
       {std::pair(kMin, kMax), std::pair(kMax, kMin),
        std::pair(int64_t{-1}, int64_t{-2}), std::pair(kMax, int64_t{0}),
        std::pair(Nanos() + 3600 * kSecond, Nanos() + 7200 * kSecond)}) {
    const Ended end = RunAgainst([&](FarEnd& far) {
      far.Ready();
      far.AwaitRequest();
      far.Started(times.first);
      far.Exited(0, times.second);
      far.AwaitRunKill();
      far.Exited(0, times.second);
    });
    ExpectOutcome(end, Outcome::kOk);
    ASSERT_TRUE(end.result.ok());
    for (const absl::Duration time :
         {end.result->timings.acquire, end.result->timings.stage_in,
          end.result->timings.run, end.result->timings.drain}) {
      EXPECT_GE(time, absl::ZeroDuration());
      EXPECT_LE(time, end.took);
    }
  }
}

// ---- too much and too little ----

// One event over and over, as fast as it goes, for as long as the jail lives.
Attack Flood(const std::string& bytes, bool started) {
  return [=](FarEnd& end) {
    if (started) end.ReadyAndStarted();
    while (end.SendBytes(bytes)) {
    }
  };
}

TEST(InitFlood, EndsWithoutAnEndDoNotOutliveTheWallTime) {
  internal::InitEvent event;
  event.mutable_exited()->set_wait_status(0);
  event.mutable_exited()->set_monotonic_ns(1);
  const Ended ended = RunAgainst(Flood(event.SerializeAsString(), true));
  // The first is believed, and what lives is killed.
  ExpectOutcome(ended, Outcome::kOk);
  ExpectBroken(RunAgainst(Flood(event.SerializeAsString(), false)));
}

TEST(InitFlood, AnyOtherEventEndsTheRun) {
  internal::InitEvent event;
  event.mutable_raised()->add_steps();
  ExpectBroken(RunAgainst(Flood(event.SerializeAsString(), false)));
  ExpectBroken(RunAgainst(Flood(event.SerializeAsString(), true)));
  event.mutable_started()->add_steps();
  ExpectBroken(RunAgainst(Flood(event.SerializeAsString(), false)));
  ExpectBroken(RunAgainst(Flood(event.SerializeAsString(), true)));
}

TEST(InitFlood, OthersAreServedMeanwhile) {
  internal::InitEvent event;
  event.mutable_exited()->set_wait_status(0);
  Job job = SmallJob();
  // The kernel's part is left out: the group never gets empty, so this one is
  // at it for the whole ten seconds that the daemon waits for deaths.
  std::thread flooded([&] {
    FakeYard yard(sandbox::kExecKind, Flood(event.SerializeAsString(), true));
    const auto jail = yard.sandbox().CreateJail(sandbox::kExecKind, "default",
                                                job.limits, absl::Seconds(5));
    ASSERT_TRUE(jail.ok());
    const absl::Time end = absl::Now() + absl::Seconds(2);
    while (absl::Now() < end) (void)(*jail)->NextEvent();
  });
  for (int i = 0; i < 20; ++i) {
    FakeYard yard(sandbox::kExecKind, [](FarEnd& end) {
      end.ReadyAndStarted();
      end.Exited(0);
      end.AwaitRunKill();
      end.Exited(0);
    });
    CancelToken cancel;
    JailPool pool(
        {{.floor = 0}},
        [](const JailKey&,
           sandbox::FillFor) -> absl::StatusOr<std::unique_ptr<sandbox::Jail>> {
          return absl::UnimplementedError("no zygote");
        },
        [](sandbox::Jail&) { return true; });
    const absl::Time began = absl::Now();
    const auto result = RunJob(yard.sandbox(), pool, job, cancel, nullptr);
    EXPECT_TRUE(result.ok()) << result.status();
    EXPECT_LT(absl::Now() - began, absl::Seconds(1));
  }
  flooded.join();
}

// As long as the daemon has patience for a start, and for an end.
constexpr absl::Duration kPatience = absl::Seconds(17);

TEST(InitSilence, SilenceFromTheBeginningEndsInTime) {
  ExpectBroken(RunAgainst([](FarEnd& end) { end.AwaitJailKill(); }, SmallJob(),
                          kPatience));
}

TEST(InitSilence, SilenceOnceInitWasReadyEndsInTime) {
  ExpectBroken(RunAgainst(
      [](FarEnd& end) {
        end.Ready();
        end.AwaitJailKill();
      },
      SmallJob(), kPatience));
}

TEST(InitSilence, SilenceOnceTheProgramRunsEndsInTime) {
  // It says nothing of the end of what was killed at the wall limit. The jail
  // is killed in its place, and why the run ends was known before.
  ExpectOutcome(RunAgainst(
                    [](FarEnd& end) {
                      end.ReadyAndStarted();
                      end.AwaitJailKill();
                    },
                    SmallJob(), kPatience),
                Outcome::kTimeout);
}

// ---- closing ----

TEST(InitCloses, AClosedChannelEndsTheRunAtEachPoint) {
  const auto close = [](FarEnd& end) { end.control.reset(); };
  ExpectBroken(RunAgainst(close));
  ExpectBroken(RunAgainst([&](FarEnd& end) {
    end.Ready();
    close(end);
  }));
  ExpectBroken(RunAgainst([&](FarEnd& end) {
    end.Ready();
    end.AwaitRequest();
    close(end);
  }));
  ExpectOutcome(RunAgainst([&](FarEnd& end) {
                  end.ReadyAndStarted();
                  close(end);
                }),
                Outcome::kJailFailed);
  ExpectOutcome(RunAgainst([&](FarEnd& end) {
                  end.ReadyAndStarted();
                  end.Exited(0);
                  close(end);
                }),
                Outcome::kOk);
}

TEST(InitCloses, AHalfClosedChannelEndsTheRun) {
  for (const int how : {SHUT_RD, SHUT_WR, SHUT_RDWR}) {
    SCOPED_TRACE(how);
    ExpectBroken(RunAgainst([&](FarEnd& end) {
      ::shutdown(end.control.get(), how);
      if (how == SHUT_RD) end.control.reset();
    }));
    ExpectOutcome(RunAgainst([&](FarEnd& end) {
                    end.ReadyAndStarted();
                    ::shutdown(end.control.get(), how);
                    end.Exited(0);
                    end.AwaitRunKill();
                    end.Exited(0);
                  }),
                  how == SHUT_RD ? Outcome::kOk : Outcome::kJailFailed);
  }
}

}  // namespace
}  // namespace sandglass::server
