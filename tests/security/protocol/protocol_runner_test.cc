// A runner that was taken over: before its program, when it speaks on a socket
// and passes descriptors, and afterwards through its pipe alone.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/security/protocol/protocol_run.h"

namespace sandglass::server {
namespace {

using policy::Outcome;
using sandbox::RunnerEvent;
using sandbox::RunnerEventKind;
using sandbox::RunnerStep;

std::string Bytes(const RunnerEvent& event) {
  return {reinterpret_cast<const char*>(&event), sizeof(event)};
}

std::string Word(RunnerEventKind kind, int32_t value = 0,
                 int64_t nanoseconds = 0) {
  return Bytes({.kind = kind, .value = value, .nanoseconds = nanoseconds});
}

struct Report {
  Pipe pipe;
  bool Write(const std::string& bytes) const {
    return ::write(pipe.write.get(), bytes.data(), bytes.size()) ==
           static_cast<ssize_t>(bytes.size());
  }
};

// As the kernel does it: whoever has the file open reads the new content.
void Overwrite(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::in | std::ios::out) << content;
}

// Init and runner behave until the runner waits.
Report RunnerReady(FarEnd& end, int flags = O_NONBLOCK) {
  end.Ready();
  end.in = MakePipe(flags);
  end.out = MakePipe(flags);
  end.err = MakePipe(flags);
  Report report{MakePipe(flags)};
  end.SendAsRunner(Word(RunnerEventKind::kReady),
                   {end.in.write.get(), end.out.read.get(), end.err.read.get(),
                    report.pipe.read.get()});
  end.in.write.reset();
  end.out.read.reset();
  end.err.read.reset();
  report.pipe.read.reset();
  return report;
}

// ... and until its program runs.
Report RunnerStarted(FarEnd& end, int flags = O_NONBLOCK) {
  Report report = RunnerReady(end, flags);
  auto job = os::ReceivePacket(end.runner.get(), os::Wait::kYes);
  EXPECT_TRUE(job.ok()) << job.status();
  EXPECT_TRUE(end.SendAsRunner(Word(RunnerEventKind::kStarted, 0, Nanos())));
  return report;
}

// A jail whose runner doesn't get as far as to wait isn't given to a run: that
// takes one without, of which this yard has none.
void ExpectNotTaken(const Attack& attack,
                    absl::Duration bound = absl::Seconds(5)) {
  const Ended ended = RunAgainst(attack, RunnerJob(), bound);
  EXPECT_EQ(ended.result.status().code(), absl::StatusCode::kNotFound)
      << ended.result.status();
  EXPECT_GE(ended.made, 1u);
}

TEST(RunnerFrames, RubbishEndsTheJail) {
  for (const std::string& bytes :
       {std::string("x"), std::string(sizeof(RunnerEvent) - 1, '\0'),
        std::string(sizeof(RunnerEvent), '\xff'),
        std::string(os::kMaxPacketBytes + 1, '\1'),
        Word(static_cast<RunnerEventKind>(0)),
        Word(static_cast<RunnerEventKind>(99)), Word(RunnerEventKind::kStarted),
        Word(RunnerEventKind::kDone), Word(RunnerEventKind::kFailed),
        Word(RunnerEventKind::kReady)}) {
    SCOPED_TRACE(bytes.size());
    ExpectNotTaken([&](FarEnd& end) {
      end.Ready();
      end.SendAsRunner(bytes);
    });
  }
}

TEST(RunnerFrames, StepsThatAreNotThereEndTheJail) {
  for (const uint32_t count : {1u, 0x10000000u, 0xffffffffu}) {
    RunnerEvent event = {.kind = RunnerEventKind::kReady, .step_count = count};
    ExpectNotTaken([&](FarEnd& end) {
      end.Ready();
      const Pipe pipe = MakePipe(O_NONBLOCK);
      end.SendAsRunner(Bytes(event), std::vector<int>(4, pipe.read.get()));
    });
  }
}

TEST(RunnerFrames, StepsAndTimesThatCanNotBeEndTheJail) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  for (const RunnerStep step :
       {RunnerStep{-1, 0}, RunnerStep{1 << 20, 0}, RunnerStep{1, -1},
        RunnerStep{1, kMax}, RunnerStep{kMax, 1}}) {
    const RunnerEvent event = {.kind = RunnerEventKind::kReady,
                               .step_count = 1};
    ExpectNotTaken([&](FarEnd& end) {
      end.Ready();
      end.in = MakePipe(O_NONBLOCK);
      end.out = MakePipe(O_NONBLOCK);
      end.SendAsRunner(
          Bytes(event) +
              std::string(reinterpret_cast<const char*>(&step), sizeof(step)),
          {end.in.write.get(), end.out.read.get(), end.out.read.get(),
           end.out.read.get()});
    });
  }
}

TEST(RunnerStreams, OnlyPipesAreTaken) {
  for (size_t place = 0; place < 4; ++place) {
    for (const bool zero : {true, false}) {
      SCOPED_TRACE(place);
      ExpectNotTaken([&](FarEnd& end) {
        end.Ready();
        const Pipe in = MakePipe(O_NONBLOCK);
        const Pipe out = MakePipe(O_NONBLOCK);
        const os::Fd other(zero ? ::open("/dev/zero", O_RDWR | O_CLOEXEC)
                                : ::eventfd(0, EFD_CLOEXEC));
        std::vector<int> fds = {in.write.get(), out.read.get(), out.read.get(),
                                out.read.get()};
        fds[place] = other.get();
        end.SendAsRunner(Word(RunnerEventKind::kReady), fds);
      });
    }
  }
}

TEST(RunnerStreams, NothingIsTakenBesideThem) {
  const os::Fd zero(::open("/dev/zero", O_RDWR | O_CLOEXEC));
  ExpectNotTaken([&](FarEnd& end) {
    end.Ready();
    const Pipe in = MakePipe(O_NONBLOCK);
    const Pipe out = MakePipe(O_NONBLOCK);
    end.SendAsRunner(Word(RunnerEventKind::kReady),
                     {in.write.get(), out.read.get(), out.read.get(),
                      out.read.get(), zero.get()});
  });
}

TEST(RunnerWords, OnlyAListenerCanBeAsked) {
  const os::Fd zero(::open("/dev/zero", O_RDWR | O_CLOEXEC));
  const os::Fd event(::eventfd(0, EFD_CLOEXEC));
  const Pipe pipe = MakePipe(O_NONBLOCK);
  for (const std::vector<int>& fds :
       std::vector<std::vector<int>>{{},
                                     {zero.get()},
                                     {event.get()},
                                     {pipe.read.get()},
                                     {zero.get(), event.get()}}) {
    ExpectNotTaken([&](FarEnd& end) {
      end.Ready();
      end.SendAsRunner(Word(RunnerEventKind::kAsks), fds);
    });
  }
}

TEST(RunnerWords, NothingIsAskedOnceTheRunnerHasItsJob) {
  const Ended ended = RunAgainst(
      [](FarEnd& end) {
        const os::Fd event(::eventfd(0, EFD_CLOEXEC));
        const Report report = RunnerReady(end);
        auto job = os::ReceivePacket(end.runner.get(), os::Wait::kYes);
        EXPECT_TRUE(job.ok()) << job.status();
        end.SendAsRunner(Word(RunnerEventKind::kAsks), {event.get()});
      },
      RunnerJob());
  ExpectBroken(ended);
}

TEST(RunnerStreams, PipesThatBlockHoldNobodyUp) {
  Job job = RunnerJob();
  job.stdin_data = std::string(1 << 20, 'x');
  ExpectOutcome(RunAgainst(
                    [](FarEnd& end) {
                      const Report report = RunnerStarted(end, 0);
                      end.AwaitRunKill();
                      end.Exited(9);
                    },
                    job),
                Outcome::kTimeout);
}

TEST(RunnerWords, ReadyTwiceIsHeardOnce) {
  const Ended ended = RunAgainst(
      [](FarEnd& end) {
        const Report report = RunnerStarted(end);
        for (int i = 0; i < 100; ++i) {
          end.SendAsRunner(Word(RunnerEventKind::kReady));
        }
        report.Write(Word(RunnerEventKind::kDone, 7, Nanos()));
        end.Exited(7 << 8);
        end.AwaitRunKill();
        end.Exited(7 << 8);
      },
      RunnerJob());
  ExpectOutcome(ended, Outcome::kNonzeroExit);
}

TEST(RunnerWords, DoneWithAnyCodeAndTimeIsOneOfAByteAndBounded) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  for (const int32_t code : {0, 1, 255, 256, -1, 0x7fffffff}) {
    for (const int64_t when : {int64_t{0}, -kMax, kMax}) {
      const Ended ended = RunAgainst(
          [&](FarEnd& end) {
            const Report report = RunnerStarted(end);
            report.Write(Word(RunnerEventKind::kDone, code, when));
            end.AwaitRunKill();
            end.Exited(code << 8);
          },
          RunnerJob());
      ExpectOutcome(ended,
                    (code & 0xff) == 0 ? Outcome::kOk : Outcome::kNonzeroExit);
      ASSERT_TRUE(ended.result.ok());
      EXPECT_EQ(ended.result->verdict.exit_code, code & 0xff);
    }
  }
}

// The runner ends between its word and the daemon's look, and a child that it
// left lives: the kernel still counts the runner until somebody has waited for
// it, and lists only the child. With or without it, one is left behind.
TEST(RunnerWords, AChildInItsPlaceIsLeftBehind) {
  for (const char* counted : {"2\n", "3\n"}) {
    const Ended ended = RunAgainst(
        [&](FarEnd& end) {
          const Report report = RunnerStarted(end);
          Overwrite(end.directory + "/run/cgroup.procs", "3\n");
          Overwrite(end.directory + "/pids.current", counted);
          report.Write(Word(RunnerEventKind::kDone, 0, Nanos()));
          end.Exited(0);
          end.AwaitRunKill();
        },
        RunnerJob());
    ExpectOutcome(ended, Outcome::kOk);
    ASSERT_TRUE(ended.result.ok());
    EXPECT_EQ(ended.result->facts.leftover_processes, 1u) << counted;
  }
}

TEST(RunnerWords, APartOfAWordIsNone) {
  const std::string word = Word(RunnerEventKind::kDone, 0, 1);
  for (size_t size = 1; size < word.size(); size += 5) {
    const Ended ended = RunAgainst(
        [&](FarEnd& end) {
          {
            const Report report = RunnerStarted(end);
            report.Write(word.substr(0, size));
          }
          end.AwaitRunKill();  // the wall limit's
          end.Exited(9);
        },
        RunnerJob());
    ExpectOutcome(ended, Outcome::kTimeout);
  }
}

TEST(RunnerWords, AnythingBeforeTheStartIsOurFailure) {
  for (const std::string& word :
       {Word(RunnerEventKind::kDone), Word(RunnerEventKind::kFailed, 5),
        Word(RunnerEventKind::kReady), Word(RunnerEventKind::kStarted) + "x",
        std::string("x")}) {
    const Ended ended = RunAgainst(
        [&](FarEnd& end) {
          const Report report = RunnerReady(end);
          (void)os::ReceivePacket(end.runner.get(), os::Wait::kYes);
          end.SendAsRunner(word);
        },
        RunnerJob());
    EXPECT_FALSE(ended.result.ok());
  }
}

TEST(RunnerWords, BeforeTheStartThePipeIsNotRead) {
  const Ended ended = RunAgainst(
      [&](FarEnd& end) {
        const Report report = RunnerReady(end);
        (void)os::ReceivePacket(end.runner.get(), os::Wait::kYes);
        report.Write(Word(RunnerEventKind::kDone, 5));
        absl::SleepFor(absl::Milliseconds(20));
        end.SendAsRunner(Word(RunnerEventKind::kStarted, 0, Nanos()));
        end.AwaitRunKill();
        end.Exited(5 << 8);
      },
      RunnerJob());
  ExpectOutcome(ended, Outcome::kNonzeroExit);
}

TEST(RunnerFlood, AFloodOfWordsIsCutOff) {
  ExpectNotTaken([](FarEnd& end) {
    end.Ready();
    while (end.SendAsRunner(Word(RunnerEventKind::kDone))) {
    }
  });
}

TEST(RunnerSilence, ASilentRunnerIsGivenUp) {
  ExpectNotTaken([](FarEnd& end) { end.Ready(); }, absl::Seconds(35));
}

// An init that says without end that it stands keeps no filler.
TEST(RunnerSilence, ASilentRunnerIsGivenUpWhileInitTalks) {
  ExpectNotTaken(
      [](FarEnd& end) {
        internal::InitEvent event;
        event.mutable_raised();
        while (end.Send(event)) {
        }
      },
      absl::Seconds(17));
}

}  // namespace
}  // namespace sandglass::server
