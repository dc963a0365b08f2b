// Programs that say what only the daemon can know: how long they ran, how much
// they used, the how-manieth run of their kernel they are. Who measures what is
// in docs/verdicts.md.

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/calls/warm.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/text.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

// The report of a program's end with a code and a time, as a runner writes it.
constexpr char kDone[] =
    "import os, struct, time\n"
    "def done(code, when=0):\n"
    "    os.write(254, struct.pack('IiiIq', 3, code, 0, 0, when))\n";

class ForgedNumbers : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    ASSERT_TRUE(WaitUntil([] { return HadRunner(Run(Python("print(1)"))); },
                          absl::Seconds(20)));
  }

  static v1::RunCodeRequest Warm(const std::string& code) {
    return WithWall(Python(absl::StrCat(kDone, code)), absl::Seconds(5));
  }
};

TEST_F(ForgedNumbers, ARunIsAsLongAsTheDaemonSaw) {
  for (const char* when :
       {"0", "-1", "1", "time.monotonic_ns() - 10**9", "-2**63", "2**63 - 1"}) {
    SCOPED_TRACE(when);
    const RunResult result = Run(Warm(
        absl::StrCat("time.sleep(0.4)\ndone(0, ", when, ")\ntime.sleep(9)\n")));
    ASSERT_TRUE(HadRunner(result));
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_GE(ToAbsl(result.response.usage().wall_time()),
              absl::Milliseconds(400));
    EXPECT_GE(ToAbsl(result.response.timings().run()), absl::Milliseconds(400));
    EXPECT_LT(ToAbsl(result.response.usage().wall_time()), absl::Seconds(4));
  }
}

TEST_F(ForgedNumbers, WhatItUsedIsTheKernelsCount) {
  const RunResult result =
      Run(Warm("data = bytearray(b'x') * (64 << 20)\n"
               "end = time.process_time() + 0.4\n"
               "while time.process_time() < end: pass\n"
               "done(0)\ntime.sleep(9)\n"));
  ASSERT_TRUE(HadRunner(result));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  const v1::Usage& usage = result.response.usage();
  EXPECT_GE(ToAbsl(usage.cpu_user_time()) + ToAbsl(usage.cpu_system_time()),
            absl::Milliseconds(400));
  EXPECT_GE(ToAbsl(usage.wall_time()), absl::Milliseconds(400));
  EXPECT_GE(usage.peak_memory_bytes(), uint64_t{64} << 20);
}

// Where files are to be handed over its end is waited for. Whoever goes on
// meanwhile is ended, and has it on his account.
TEST_F(ForgedNumbers, WhoeverGoesOnAfterHisEndIsMeasured) {
  v1::RunCodeRequest request =
      Warm("open('x', 'w').write('x')\ndone(0)\nwhile True: pass\n");
  request.add_fetch("x");
  const RunResult result = Run(request);
  ASSERT_TRUE(HadRunner(result));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.files_size(), 1);
  EXPECT_GE(ToAbsl(result.response.usage().wall_time()), absl::Seconds(1));
  EXPECT_GE(ToAbsl(result.response.usage().cpu_user_time()),
            absl::Milliseconds(200));
}

TEST_F(ForgedNumbers, ACellSaysNeitherItsTimeNorItsNumber) {
  TestSession session(client());
  ASSERT_THAT(session.status(), IsOk());
  ASSERT_THAT(session.Run("1"), IsOk());
  const RunResult forged = session.Run(
      "import os, time\ntime.sleep(0.4)\n"
      "os.write(254, b'{\"ev\":\"done\",\"id\":2,\"status\":\"ok\","
      "\"exit_code\":0,\"count\":4000000000}\\n')\n");
  ASSERT_THAT(forged, IsOk());
  EXPECT_EQ(forged.response.session().run_number(), 2u);
  EXPECT_GE(ToAbsl(forged.response.usage().wall_time()),
            absl::Milliseconds(400));
  const RunResult next = session.Run("2");
  ASSERT_THAT(next, IsOk());
  EXPECT_EQ(next.response.session().run_number(), 3u);
}

}  // namespace
}  // namespace sandglass::testing
