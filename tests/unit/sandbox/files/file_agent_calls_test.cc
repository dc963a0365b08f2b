// Calls on a file agent: many at once, cut short, and on one that dies.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "sandbox/files/file_agent_client.h"
#include "tests/support/calls/agent_fixture.h"
#include "tests/support/tier.h"

namespace sandglass::sandbox {
namespace {

class FileAgentCallsTest : public sandglass::testing::AgentFixture {
 protected:
  FileCode CodeOfOpen(const std::string& path) {
    return agent().Open(path, limits_).result.code;
  }
  FileCode CodeOfWrite(const std::string& path) {
    return agent().Write(path, "new", {}, limits_).result.code;
  }
  // A process that it has started; 0 where there is none.
  static pid_t ChildOf(pid_t pid) {
    const std::string children = sandglass::testing::ReadFile(
        absl::StrCat("/proc/", pid, "/task/", pid, "/children"));
    pid_t child = 0;
    return absl::SimpleAtoi(children.substr(0, children.find(' ')), &child)
               ? child
               : 0;
  }
  int64_t ChangedAt(const std::string& path) const {
    struct stat info = {};
    EXPECT_EQ(::stat(At(path).c_str(), &info), 0);
    return absl::ToUnixNanos(absl::TimeFromTimespec(info.st_mtim));
  }
};

TEST_F(FileAgentCallsTest, ServesManyThreads) {
  Start();
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 25; ++i) {
        const std::string path = absl::StrCat("/", t, "-", i);
        const std::string text(static_cast<size_t>(i) * 10'000, 't');
        EXPECT_TRUE(agent().Write(path, text, {}, limits_).ok());
        const auto opened = agent().Open(path, limits_);
        ASSERT_TRUE(opened.ok());
        EXPECT_EQ(opened.value.facts.size, text.size());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(agent().List("/", "", 0, limits_).value.entries.size(), 200u);
}

// What takes long holds up nobody.
TEST_F(FileAgentCallsTest, AnswersWhileAnUploadWaits) {
  Put("/a", "a");
  Start();
  std::vector<FileUpload> uploads;
  for (int i = 0; i < 10; ++i) {
    auto upload = agent().BeginWrite(absl::StrCat("/up", i), {}, limits_);
    ASSERT_TRUE(upload.ok());
    uploads.push_back(std::move(upload.value));
  }
  EXPECT_EQ(CodeOfOpen("/a"), FileCode::kOk);
  EXPECT_TRUE(agent().List("/", "", 0, limits_).ok());
  for (FileUpload& upload : uploads) EXPECT_TRUE(upload.Commit(limits_).ok());
  EXPECT_EQ(agent().List("/", "", 0, limits_).value.entries.size(), 11u);
}

TEST_F(FileAgentCallsTest, RefusesMoreAtOnceThanItCanDo) {
  Start();
  std::vector<FileUpload> uploads;
  for (int i = 0; i < 40; ++i) {
    auto upload = agent().BeginWrite(absl::StrCat("/up", i), {}, limits_);
    ASSERT_TRUE(upload.ok());
    uploads.push_back(std::move(upload.value));
  }
  int busy = 0;
  for (FileUpload& upload : uploads) {
    if (upload.Commit(limits_).result.code == FileCode::kBusy) ++busy;
  }
  EXPECT_EQ(busy, 8);
  EXPECT_TRUE(agent().alive());
}

TEST_F(FileAgentCallsTest, StopsWhenItsCallerDoes) {
  Start();
  ASSERT_EQ(::mkfifo(At("/fifo").c_str(), 0644), 0);
  const os::Fd never(::open(At("/fifo").c_str(), O_RDWR | O_CLOEXEC));
  const os::Fd cancel(::eventfd(1, EFD_CLOEXEC));
  EXPECT_EQ(agent()
                .WriteFrom("/w", never, 10, {}, {.cancel_fd = cancel.get()})
                .result.code,
            FileCode::kCancelled);
  EXPECT_EQ(
      agent()
          .WriteFrom("/w", never, 10, {}, {.timeout = absl::Milliseconds(50)})
          .result.code,
      FileCode::kTimedOut);
  EXPECT_TRUE(agent().alive());
  EXPECT_EQ(CodeOfWrite("/x"), FileCode::kOk);
  EXPECT_EQ(Stop(), 0);
  EXPECT_EQ(NamesIn("/"), 2u);
}

// As the kernel does when the jail's memory is full.
TEST_F(FileAgentCallsTest, OutlivesWhatWorksForIt) {
  Start();
  auto upload = agent().BeginWrite("/a", {}, limits_);
  ASSERT_TRUE(upload.ok());
  pid_t worker = 0;
  while ((worker = ChildOf(pid_)) == 0) ::usleep(1000);
  ::kill(worker, SIGKILL);
  const auto ended = upload.value.Commit(limits_);
  EXPECT_EQ(ended.result.code, FileCode::kFailed);
  EXPECT_EQ(ended.result.error, ENOMEM);
  EXPECT_EQ(CodeOfWrite("/b"), FileCode::kOk);
}

// The one that answers, and the one that writes for it.
TEST_F(FileAgentCallsTest, AnEditIsWholeWhicheverOfItsProcessesIsKilled) {
  constexpr size_t kSize = 16'000'000;
  std::string lines;
  for (int i = 0; lines.size() < kSize; ++i) absl::StrAppend(&lines, i, "\n");
  const std::string before = "start\n" + lines, after = "begin here\n" + lines;
  Start();
  const int tries = sandglass::testing::OnlyAPart() ? 4 : 16;
  for (int i = 0; i < tries; ++i) {
    Put("/f", before);
    const int64_t put = ChangedAt("/f");
    FileResult result;
    std::atomic<bool> done = false;
    std::thread editor([&] {
      result = agent()
                   .Edit("/f", "start\n", "begin here\n",
                         FileAgent::Occurrences::kOne, limits_)
                   .result;
      done = true;
    });
    while (!done && ChangedAt("/f") == put) {
    }
    const pid_t worker = ChildOf(pid_);
    const pid_t writer = worker > 0 && i % 2 == 0 ? ChildOf(worker) : 0;
    if (worker > 0) ::kill(writer > 0 ? writer : worker, SIGKILL);
    editor.join();
    const std::string text = Get("/f");
    EXPECT_TRUE(text == before || text == after) << i;
    if (result.ok()) {
      EXPECT_TRUE(text == after) << i;
    } else {
      EXPECT_EQ(result.code, FileCode::kFailed);
      EXPECT_EQ(result.error, ENOMEM);
    }
  }
}

TEST_F(FileAgentCallsTest, ACallOnADeadAgentFails) {
  Start();
  ::kill(pid_, SIGKILL);
  EXPECT_EQ(CodeOfOpen("/a"), FileCode::kAgentGone);
  EXPECT_FALSE(agent().alive());
  EXPECT_EQ(CodeOfWrite("/a"), FileCode::kAgentGone);
}

TEST(StatusOfFileTest, NamesCodePathAndErrno) {
  const absl::Status status =
      StatusOfFile({FileCode::kNotFound, ENOENT}, "/a/b");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StartsWith(status.message(), "not_found: /a/b"));
  EXPECT_TRUE(StatusOfFile({}, "/a").ok());
}

}  // namespace
}  // namespace sandglass::sandbox
