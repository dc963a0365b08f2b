#include "client/session/session_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandglass/v1/session.pb.h"

namespace sandglass::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kNowSeconds = 1000000;
constexpr absl::Time kNow = absl::FromUnixSeconds(kNowSeconds);

v1::Session Sample() {
  v1::Session session;
  session.set_session_id("ses-1");
  session.set_language("python");
  session.set_profile("default");
  session.set_caller("uid:1000");
  session.set_state(v1::SESSION_STATE_ACTIVE);
  session.set_memory_bytes(30 << 20);
  session.mutable_create_time()->set_seconds(kNowSeconds - 7500);
  session.mutable_last_used_time()->set_seconds(kNowSeconds - 60);
  session.mutable_expire_time()->set_seconds(kNowSeconds + 1740);
  session.mutable_idle_timeout()->set_seconds(1800);
  session.mutable_max_age()->set_seconds(86400);
  session.mutable_limits()->set_memory_bytes(256 << 20);
  (*session.mutable_labels())["b"] = "2";
  (*session.mutable_labels())["a"] = "x\x1b";
  session.add_kernels()->set_state(v1::KERNEL_STATE_BUSY);
  session.mutable_kernels(0)->set_runs(3);
  v1::KernelInfo& plot = *session.add_kernels();
  plot.set_context("plot");
  plot.set_state(v1::KERNEL_STATE_NOT_STARTED);
  plot.set_restarts(1);
  plot.set_last_end("The kernel \x1bwas killed.");
  return session;
}

TEST(SessionsTextTest, ShowsALineForEachSession) {
  v1::ListSessionsResponse sessions;
  *sessions.add_sessions() = Sample();
  v1::Session& bare = *sessions.add_sessions();
  bare.set_session_id("ses-2");
  bare.set_state(v1::SESSION_STATE_PAUSED);
  bare.mutable_create_time()->set_seconds(kNowSeconds + 5);
  EXPECT_EQ(SessionsText(sessions, kNow),
            "SESSION ID  LANGUAGE  STATE   KERNELS                MEMORY  AGE "
            "  EXPIRES IN  CALLER    LABELS\n"
            "ses-1       python    active  busy,plot:not started  30 MiB  2h5m"
            "  29m         uid:1000  a=x\\x1b,b=2\n"
            "ses-2       -         paused  -                      -       0   "
            "  0\n");
}

TEST(SessionTextTest, ShowsAllOfOne) {
  const std::string text = SessionText(Sample(), kNow);
  EXPECT_THAT(text, HasSubstr("session ses-1\n"));
  EXPECT_THAT(text, HasSubstr("  language:   python\n"));
  EXPECT_THAT(text, HasSubstr(", 2h5m ago\n"));
  EXPECT_THAT(text,
              HasSubstr("  ends:       in 29m unless it is used before (idle "
                        "timeout 30m, at most 24h old)\n"));
  EXPECT_THAT(text, HasSubstr("  limits:     memory 256 MiB\n"));
  EXPECT_THAT(text, HasSubstr("  files:      gone with the daemon\n"));
  EXPECT_THAT(text, HasSubstr("  KERNEL     STATE        RUNS  RESTARTS  LAST "
                              "END\n"
                              "  (default)  busy         3     0         -\n"
                              "  plot       not started  0     1         The "
                              "kernel \\x1bwas killed.\n"));
}

TEST(SessionTextTest, TellsOfACopyAndAParent) {
  v1::Session session = Sample();
  session.set_durable(true);
  session.set_durable_bytes(5 << 10);
  session.set_forked_from("ses-0");
  EXPECT_THAT(SessionText(session, kNow),
              HasSubstr("  files:      durable, 5 KiB on the daemon's disk\n"
                        "  forked of:  ses-0\n"));
}

TEST(SessionTextTest, ShowsWhatIsNotThere) {
  const std::string text = SessionText(v1::Session(), kNow);
  EXPECT_THAT(text, HasSubstr("language:   none (no kernel)\n"));
  EXPECT_THAT(text, HasSubstr("state:      unspecified\n"));
  EXPECT_THAT(text, HasSubstr("labels:     none\n"));
  EXPECT_THAT(text, HasSubstr("memory:     none yet\n"));
  EXPECT_THAT(text, HasSubstr("ends:       at once"));
  EXPECT_THAT(text, Not(HasSubstr("Kernels")));
}

}  // namespace
}  // namespace sandglass::client
