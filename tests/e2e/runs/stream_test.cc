// Output as it comes, and what holds of every stream.

#include <algorithm>
#include <map>
#include <string>

#include "absl/time/clock.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/text.h"

namespace sandglass::testing {
namespace {

class Stream : public DaemonTest {};

// What must be true of any stream that got as far as a result.
void CheckOrder(const StreamResult& stream) {
  ASSERT_THAT(stream, IsOk());
  ASSERT_GE(stream.events.size(), 2U);
  uint64_t sequence = 0;
  absl::Duration stamp;
  std::map<v1::OutputStream, uint64_t> offsets;
  for (const v1::StreamRunCodeResponse& event : stream.events) {
    EXPECT_EQ(event.sequence(), ++sequence);
    EXPECT_GE(ToAbsl(event.since_start()), stamp);
    stamp = ToAbsl(event.since_start());
    if (event.has_chunk()) {
      const v1::OutputChunk& chunk = event.chunk();
      EXPECT_FALSE(chunk.data().empty());
      EXPECT_EQ(chunk.offset(), offsets[chunk.stream()]);
      offsets[chunk.stream()] += chunk.data().size();
    }
  }
  ASSERT_TRUE(stream.events.front().has_started());
  EXPECT_EQ(ToAbsl(stream.events.front().since_start()), absl::ZeroDuration());
  const v1::RunCodeResponse* result = stream.result();
  ASSERT_NE(result, nullptr) << "the last event is no result";
  EXPECT_EQ(stream.events.front().started().run_id(), result->run_id());
  EXPECT_TRUE(stream.events.front().started().has_limits());
  EXPECT_EQ(offsets[v1::OUTPUT_STREAM_STDOUT], result->stdout().total_bytes());
  EXPECT_EQ(offsets[v1::OUTPUT_STREAM_STDERR], result->stderr().total_bytes());
}

TEST_F(Stream, NumbersRiseByOneFromOneAndAResultEndsIt) {
  const StreamResult stream = client().Stream(
      Bash("for i in 1 2 3 4 5; do echo out$i; echo err$i >&2; sleep 0.05; "
           "done; exit 4"));
  CheckOrder(stream);
  EXPECT_THAT(stream, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
  EXPECT_EQ(stream.result()->exit_code(), 4);
  EXPECT_EQ(stream.Data(v1::OUTPUT_STREAM_STDOUT),
            "out1\nout2\nout3\nout4\nout5\n");
  EXPECT_EQ(stream.Data(v1::OUTPUT_STREAM_STDERR),
            "err1\nerr2\nerr3\nerr4\nerr5\n");
  EXPECT_EQ(stream.result()->stdout().data(),
            stream.Data(v1::OUTPUT_STREAM_STDOUT));
}

TEST_F(Stream, OutputComesWhileTheProgramRuns) {
  const StreamResult stream =
      client().Stream(Bash("echo first; sleep 1.5; echo second"));
  CheckOrder(stream);
  absl::Duration first = absl::InfiniteDuration();
  absl::Duration end;
  for (size_t i = 0; i < stream.events.size(); ++i) {
    if (stream.events[i].has_chunk() &&
        stream.events[i].chunk().data().find("first") != std::string::npos) {
      first = stream.arrivals[i];
    }
    end = stream.arrivals[i];
  }
  EXPECT_LT(first + absl::Seconds(1), end)
      << "the first line should have come 1.5 s before the end";
}

TEST_F(Stream, CarriesWhatTheAnswerLeavesOut) {
  v1::RunCodeRequest request =
      Python("for i in range(100000): print(f'line {i}')");
  request.mutable_limits()->set_output_bytes(1024);
  const StreamResult stream = client().Stream(request);
  CheckOrder(stream);
  EXPECT_THAT(stream, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_TRUE(stream.result()->stdout().truncated());
  EXPECT_EQ(stream.Data(v1::OUTPUT_STREAM_STDOUT).size(),
            stream.result()->stdout().total_bytes());
}

TEST_F(Stream, ManySmallWritesForASlowClientCostLittle) {
  const auto resident = []() -> uint64_t {
    return std::stoull(StatusOf(daemon().pid())["VmRSS"]);  // KiB
  };
  const uint64_t before = resident();
  StreamCall call(client().stub(), Python(R"(
import os, time
print('ready', flush=True)
time.sleep(0.5)
for _ in range(2_000_000): os.write(1, b'x')
time.sleep(0.5)
)"));
  ASSERT_TRUE(call.ReadUntil("ready"));
  uint64_t highest = 0;
  // Nobody reads meanwhile.
  for (int i = 0; i < 30; ++i) {
    absl::SleepFor(absl::Milliseconds(100));
    highest = std::max(highest, resident());
  }
  EXPECT_LT(highest, before + (32 << 10)) << "KiB, for 2 MB of output";
  EXPECT_THAT(call.Finish(), IsOk());
}

TEST_F(Stream, TheTailBeforeADeathIsThere) {
  for (int i = 0; i < 5; ++i) {
    const StreamResult stream =
        client().Stream(Python("import os\nos.write(1, b'x' * 50000 + b'END')\n"
                               "os.kill(os.getpid(), 9)"));
    CheckOrder(stream);
    EXPECT_THAT(stream, OutcomeIs(v1::OUTCOME_SIGNALED));
    EXPECT_EQ(stream.Data(v1::OUTPUT_STREAM_STDOUT),
              std::string(50000, 'x') + "END");
  }
}

TEST_F(Stream, ASilentProgramHasOnlyStartAndResult) {
  const StreamResult stream = client().Stream(Bash("true"));
  CheckOrder(stream);
  EXPECT_EQ(stream.events.size(), 2U);
}

TEST_F(Stream, ARefusedRequestHasNoEvents) {
  const StreamResult stream = client().Stream(Program("klingon", "nuqneH"));
  EXPECT_THAT(stream, RefusesField(std::string("run.language")));
  EXPECT_TRUE(stream.events.empty());
}

TEST_F(Stream, ALimitEndsItWithAVerdict) {
  const StreamResult stream = client().Stream(WithWall(
      Bash("echo before; sleep 60; echo after"), absl::Milliseconds(500)));
  CheckOrder(stream);
  EXPECT_THAT(stream, OutcomeIs(v1::OUTCOME_TIMEOUT));
  EXPECT_EQ(stream.Data(v1::OUTPUT_STREAM_STDOUT), "before\n");
}

}  // namespace
}  // namespace sandglass::testing
