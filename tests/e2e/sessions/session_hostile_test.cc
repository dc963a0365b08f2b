// Sessions whose code tries to make the daemon pay for it.

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/support/calls/durable.h"
#include "tests/support/calls/files.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;

constexpr int64_t kMaxGrownKib = 64 << 10;

class HostileSession : public OwnDaemonTest {
 protected:
  int64_t PeakKib() { return std::stoll(StatusOf(daemon().pid())["VmHWM"]); }
};

// What a kernel's process runs before the kernel is the code's own choice.
struct Start {
  const char* name;
  std::string loop;
  const char* refusal;
};

class HostileKernelStart : public HostileSession,
                           public ::testing::WithParamInterface<Start> {};

TEST_P(HostileKernelStart, AFloodBeforeTheStartIsRefusedInFixedMemory) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon());
  v1::CreateSessionRequest request;
  request.set_language("bash");
  (*request.mutable_env())["BASH_ENV"] = "/workspace/start.sh";
  TestSession session(client(), request);
  ASSERT_THAT(session.status(), IsOk());
  ASSERT_THAT(TestFiles(client(), session.id())
                  .Write("start.sh", absl::StrCat("while :; do ",
                                                  GetParam().loop, "; done")),
              IsOk());
  const int64_t before = PeakKib();
  const RunResult result = session.Run("echo hi");
  EXPECT_THAT(result.status, StatusIs(StatusCode::INTERNAL));
  EXPECT_THAT(result.status.error_message(), HasSubstr(GetParam().refusal));
  EXPECT_LT(PeakKib() - before, kMaxGrownKib);
  EXPECT_THAT(session.Delete(), IsOk());
  session.Forget();
  StopDaemon();
}

// A session's code may stop the process that does the work for calls of its
// files. What waits meanwhile counts with its bytes.
TEST_F(HostileSession, CallsOfALargeSizeWaitOnlyInTheirShare) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon());
  TestSession session(client());
  TestFiles files(client(), session.id());
  ASSERT_THAT(files.Write("a", "1"), IsOk());
  // The default kernel may signal nobody but what it starts.
  const auto signal_all = [&](const std::string& signal) {
    return session.Run(absl::StrCat("import os, signal\n"
                                    "for pid in range(2, 300):\n"
                                    "  if pid == os.getpid(): continue\n"
                                    "  try: os.kill(pid, signal.",
                                    signal, ")\n  except OSError: pass\n"),
                       "other");
  };
  ASSERT_THAT(signal_all("SIGSTOP"), OutcomeIs(v1::OUTCOME_OK));
  const auto edit = [&](size_t bytes, absl::Duration patience) {
    v1::EditFileRequest request;
    request.set_session_id(session.id());
    request.set_path("a");
    request.set_old_text(std::string(bytes, 'x'));
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + patience));
    v1::EditFileResponse response;
    return client().files().EditFile(&context, request, &response).error_code();
  };
  // More text than a call may have, so that what is worked on ends at once.
  constexpr size_t kLarge = 900 << 10;
  constexpr int kCalls = 40;
  std::atomic<int> refused = 0;
  std::vector<std::thread> calls;
  calls.reserve(4);
  for (int i = 0; i < 4; ++i) {
    calls.emplace_back([&] {
      v1::ListDirectoryResponse response;
      EXPECT_THAT(files.List("", &response), IsOk());
    });
  }
  EXPECT_TRUE(WaitUntil(
      [&] {
        return edit(kLarge, absl::Milliseconds(300)) ==
               StatusCode::DEADLINE_EXCEEDED;
      },
      absl::Seconds(10)));
  for (int i = 0; i < kCalls; ++i) {
    calls.emplace_back([&] {
      if (edit(kLarge, absl::Seconds(60)) == StatusCode::RESOURCE_EXHAUSTED) {
        ++refused;
      }
    });
  }
  // Of one session, four are worked on, and 16 MiB may wait.
  EXPECT_TRUE(WaitUntil([&] { return refused > 10; }, absl::Seconds(5)));
  EXPECT_THAT(signal_all("SIGCONT"), OutcomeIs(v1::OUTCOME_OK));
  for (std::thread& call : calls) call.join();
  EXPECT_LT(refused, kCalls - 4);
  EXPECT_THAT(session.Delete(), IsOk());
  session.Forget();
  StopDaemon();
}

std::string Repeated(std::string_view text) {
  std::string all;
  while (all.size() < 64 << 10) all += text;
  return absl::StrCat("printf '", all, "' >&3");
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileKernelStart,
    ::testing::Values(Start{"NoLine", Repeated("x"),
                            "the kernel said too much"},
                      Start{"ManyLines", Repeated(R"({"ev":"clear","id":1}\n)"),
                            "the kernel said something before it was ready"},
                      Start{"Drops", "printf x >&3; read -t 0.01 <> <(:)",
                            "the kernel was not ready in time"}),
    [](const auto& start) { return std::string(start.param.name); });

TEST_F(HostileSession, HolesWithoutEndDoNotHoldAForkUp) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon());
  TestSession session(client());
  ASSERT_THAT(session.Run("for i in range(10_000):\n"
                          "    with open(f'f{i}', 'w') as f:\n"
                          "        f.truncate(64 << 20)\n"),
              OutcomeIs(v1::OUTCOME_OK));
  v1::ForkSessionRequest request;
  request.set_session_id(session.id());
  request.add_children();
  v1::ForkSessionResponse response;
  const grpc::Status status = CallSessions(
      client(), &v1::SessionService::Stub::ForkSession, request, &response);
  EXPECT_EQ(DetailsOf(status).reason, "FILE_TIMED_OUT")
      << status.error_message();
  // It goes on.
  EXPECT_THAT(session.Run("1"), OutcomeIs(v1::OUTCOME_OK));
  EXPECT_THAT(session.Delete(), IsOk());
  session.Forget();
  StopDaemon();
}

TEST_F(HostileSession, LongPathsDoNotMakeWhatIsFoundLarge) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon());
  TestSession session(client());
  ASSERT_THAT(session.Run(R"(
import os
for i in range(31):
    os.mkdir('d' * 250)
    os.chdir('d' * 250)
with open('text', 'w') as f: f.write(('x\n' * 200 + 'match\n') * 2_000)
for i in range(9_000): open(f'f{i}', 'w').close()
)"),
              OutcomeIs(v1::OUTCOME_OK));
  TestFiles files(client(), session.id());
  const int64_t before = PeakKib();
  v1::GrepFilesRequest grep;
  grep.set_pattern("match");
  grep.set_max_matches(10'000);
  grep.set_context_before(100);
  grep.set_context_after(100);
  v1::GrepFilesResponse lines;
  EXPECT_THAT(files.Named(&v1::FileService::Stub::GrepFiles, grep, &lines),
              IsOk());
  EXPECT_TRUE(lines.truncated());
  EXPECT_GT(lines.matches(), 0u);
  v1::GlobFilesRequest glob;
  glob.set_pattern("**");
  glob.set_max_matches(10'000);
  v1::GlobFilesResponse found;
  EXPECT_THAT(files.Named(&v1::FileService::Stub::GlobFiles, glob, &found),
              IsOk());
  EXPECT_TRUE(found.truncated());
  EXPECT_GT(found.entries_size(), 0);
  EXPECT_LT(PeakKib() - before, kMaxGrownKib / 2);
  EXPECT_THAT(session.Delete(), IsOk());
  session.Forget();
  StopDaemon();
}

class HostileDurable : public DurableTest {};

// A directory whose name moves on whenever somebody has begun to read it.
constexpr char kMovingOn[] = R"(
import os, sys
def name(i): return 'd%04d' % i
for i in range(20): os.mkdir(name(i))
for i in range(400):
    with open(f'{name(0)}/f{i}', 'wb') as f: f.write(os.urandom(1 << 17))
ready, say = os.pipe()
child = os.fork()
if child == 0:
    for i in range(19):
        read = os.stat(name(i)).st_atime_ns
        if i == 0: os.write(say, b'!')
        while os.stat(name(i)).st_atime_ns == read: pass
        os.rename(name(i), name(i + 1))
    os._exit(0)
os.read(ready, 1)
)";

TEST_F(HostileDurable, FilesThatKeepMovingAreNotCopiedWithoutEnd) {
  constexpr uint64_t kWorkspaceBytes = uint64_t{64} << 20;
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string id = Create();
  // The directory moves on too late where the processors are busy elsewhere;
  // then it does so during the next save.
  std::string not_saved =
      RunIn(id, kMovingOn).response.session().files_not_saved();
  for (int i = 0; i < 15 && not_saved.empty(); ++i) {
    not_saved = RunIn(id, "1").response.session().files_not_saved();
  }
  EXPECT_THAT(not_saved, HasSubstr("changed too much while they were saved"));
  EXPECT_LE(Describe(id).durable_bytes(), 3 * kWorkspaceBytes);
  // When all is still again, nothing is left of it.
  EXPECT_EQ(
      RunIn(id, "os.kill(child, 9), os.waitpid(child, 0)").response.outcome(),
      v1::OUTCOME_OK);
  EXPECT_EQ(RunIn(id, "1").response.session().files_not_saved(), "");
  EXPECT_LE(Describe(id).durable_bytes(), kWorkspaceBytes);
}

}  // namespace
}  // namespace sandglass::testing
