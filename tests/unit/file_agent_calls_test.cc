// Calls on a file agent: many at once, cut short, and on one that dies.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "sandbox/file_agent_client.h"
#include "tests/support/agent_fixture.h"

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
};

TEST_F(FileAgentCallsTest, ServesManyThreads) {
  Start();
  std::vector<std::thread> threads;
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
  const std::string children =
      absl::StrCat("/proc/", pid_, "/task/", pid_, "/children");
  pid_t worker = 0;
  while (!absl::SimpleAtoi(
      absl::StripAsciiWhitespace(sandglass::testing::ReadFile(children)),
      &worker)) {
    ::usleep(1000);
  }
  ASSERT_GT(worker, 0);
  ::kill(worker, SIGKILL);
  const auto ended = upload.value.Commit(limits_);
  EXPECT_EQ(ended.result.code, FileCode::kFailed);
  EXPECT_EQ(ended.result.error, ENOMEM);
  EXPECT_EQ(CodeOfWrite("/b"), FileCode::kOk);
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
