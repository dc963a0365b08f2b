#include "server/job/output_pump.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/text/utf8.h"
#include "sandbox/os/io.h"
#include "server/job/output_buffer.h"
#include "server/job/run_listener.h"

namespace sandglass::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr char kMark[] = "[redacted:employee-id]";

std::shared_ptr<const policy::Redactor> EmployeeIds() {
  auto pattern = policy::RedactionPattern::Compile("EMP-[0-9]{6}");
  EXPECT_TRUE(pattern.ok()) << pattern.status();
  auto redactor =
      policy::Redactor::Create({{"employee-id", *std::move(pattern)}});
  EXPECT_TRUE(redactor.ok()) << redactor.status();
  return *std::move(redactor);
}

// Remembers what it hears of each stream.
class Listener : public RunListener {
 public:
  void OnOutput(Stream stream, std::string_view data, uint64_t offset,
                absl::Duration since_start) override {
    std::string& heard = stream == Stream::kStdout ? out : err;
    EXPECT_EQ(offset, heard.size());
    EXPECT_GE(since_start, absl::Hours(1));
    heard += data;
  }
  std::string out, err;
};

// A program that writes to two pipes, and the pump that reads from them.
class OutputPumpTest : public ::testing::Test {
 protected:
  OutputPumpTest() {
    Open(out_, program_out_);
    Open(err_, program_err_);
    job_.limits.output_total_bytes = 1000;
  }

  static void Open(os::Fd& read, os::Fd& write) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
  static void Write(const os::Fd& pipe, std::string_view data) {
    EXPECT_TRUE(os::WriteAll(pipe.get(), {data.data(), data.size()}));
  }
  // A pump for a program that began an hour ago.
  OutputPump Begun() {
    OutputPump pump(out_, err_, job_, &listener_);
    pump.Begin(Now() - std::chrono::hours(1));
    return pump;
  }

  os::Fd out_, err_, program_out_, program_err_;
  Job job_;
  Listener listener_;
};

TEST_F(OutputPumpTest, ReadsWhatIsThereAndClosesAtTheEnd) {
  OutputPump pump = Begun();
  EXPECT_FALSE(pump.Read(Stream::kStdout));
  EXPECT_TRUE(out_.valid());
  Write(program_out_, "one");
  Write(program_err_, "two!");
  EXPECT_TRUE(pump.Read(Stream::kStdout));
  EXPECT_EQ(listener_.out, "one");
  EXPECT_EQ(listener_.err, "");
  EXPECT_TRUE(pump.Read(Stream::kStderr));
  EXPECT_EQ(listener_.err, "two!");
  EXPECT_EQ(pump.written_bytes(), 7u);
  EXPECT_EQ(pump.told_bytes(Stream::kStdout), 3u);
  EXPECT_EQ(pump.told_bytes(Stream::kStderr), 4u);
  EXPECT_FALSE(pump.Read(Stream::kStdout));
  EXPECT_TRUE(out_.valid());
  program_out_.reset();
  EXPECT_FALSE(pump.Read(Stream::kStdout));
  EXPECT_FALSE(out_.valid());
  EXPECT_TRUE(err_.valid());
  EXPECT_FALSE(pump.Read(Stream::kStdout));

  pump.Drain();
  JobResult result;
  pump.CollectResult(result);
  EXPECT_EQ(result.stdout_result.data, "one");
  EXPECT_EQ(result.stderr_result.data, "two!");
  EXPECT_EQ(result.facts.stdout_bytes, 3u);
  EXPECT_EQ(result.facts.stderr_bytes, 4u);
}

TEST_F(OutputPumpTest, DoesNotWaitForWhoKeepsAPipeOpen) {
  OutputPump pump = Begun();
  const std::string much(4000, 'x');
  Write(program_out_, much);
  Write(program_err_, "e");
  pump.ReadWaiting();
  EXPECT_EQ(pump.written_bytes(), much.size() + 1);
  Write(program_out_, "the end");
  pump.Drain();
  EXPECT_EQ(pump.told_bytes(Stream::kStdout), much.size() + 7);
  EXPECT_TRUE(out_.valid());
}

TEST_F(OutputPumpTest, ObserverHearsNothingBeyondTheLimit) {
  job_.limits.output_total_bytes = 4;
  OutputPump pump = Begun();
  Write(program_out_, "123");
  pump.ReadWaiting();
  Write(program_err_, "45");
  pump.ReadWaiting();
  EXPECT_EQ(listener_.err, "45");  // up to the piece that exceeds it
  Write(program_out_, "67");
  pump.Drain();
  EXPECT_EQ(listener_.out, "123");
  EXPECT_EQ(pump.written_bytes(), 7u);
  JobResult result;
  pump.CollectResult(result);
  EXPECT_EQ(result.stdout_result.data, "12367");
}

TEST_F(OutputPumpTest, ObserverAndAnswerSeeTheSame) {
  job_.redactor = EmployeeIds();
  OutputPump pump = Begun();
  Write(program_err_, "a EMP-");
  pump.ReadWaiting();
  EXPECT_EQ(listener_.err, "a ");
  EXPECT_EQ(pump.told_bytes(Stream::kStderr), 2u);
  EXPECT_EQ(pump.written_bytes(), 6u);
  Write(program_err_, "123456 b");
  pump.ReadWaiting();
  EXPECT_EQ(listener_.err, "a " + std::string(kMark) + " b");
  Write(program_err_, " EMP-12");
  pump.Drain();
  EXPECT_EQ(listener_.err, "a " + std::string(kMark) + " b EMP-12");
  EXPECT_EQ(pump.written_bytes(), 21u);

  JobResult result;
  result.redactions = {{"employee-id", 2}};
  pump.CollectResult(result);
  EXPECT_EQ(result.facts.stderr_bytes, 21u);
  EXPECT_EQ(result.stderr_result.data, listener_.err);
  EXPECT_EQ(result.stderr_result.total_bytes, listener_.err.size());
  EXPECT_FALSE(result.stderr_result.truncated);
  EXPECT_THAT(result.redactions, ElementsAre(Pair("employee-id", 3)));
}

TEST_F(OutputPumpTest, NobodyNeedsToListen) {
  job_.limits.output_bytes = 4;
  OutputPump pump(out_, err_, job_, nullptr);
  Write(program_out_, "EMP-123456");
  pump.Drain();
  JobResult result;
  pump.CollectResult(result);
  EXPECT_EQ(result.stdout_result.data, "EM56");
  EXPECT_EQ(result.stdout_result.total_bytes, 10u);
  EXPECT_TRUE(result.stdout_result.truncated);
  EXPECT_THAT(result.redactions, IsEmpty());
}

TEST_F(OutputPumpTest, TakesTheNoteOutOfStdout) {
  OutputPump pump = Begun();
  pump.ExpectNote(EndMarker("@end:"));
  Write(program_err_, "@end:3\n");
  Write(program_out_, "hello@en");
  pump.ReadWaiting();
  EXPECT_EQ(listener_.out, "hello");
  EXPECT_EQ(listener_.err, "@end:3\n");
  EXPECT_FALSE(pump.noted_exit_code().has_value());
  const MonotonicTime before = Now();
  Write(program_out_, "d:7\n, and more");
  pump.ReadWaiting();
  ASSERT_TRUE(pump.noted_exit_code().has_value());
  EXPECT_EQ(*pump.noted_exit_code(), 7);
  const MonotonicTime noted = pump.noted_at();
  EXPECT_GE(noted, before);
  EXPECT_LE(noted, Now());
  EXPECT_EQ(listener_.out, "hello, and more");
  Write(program_out_, "@end:8\n");
  pump.Drain();
  EXPECT_EQ(pump.noted_exit_code(), 7);
  EXPECT_EQ(pump.noted_at(), noted);
  EXPECT_EQ(listener_.out, "hello, and more@end:8\n");
}

TEST_F(OutputPumpTest, WhatOnlyLookedLikeANoteComesAtTheEnd) {
  OutputPump pump = Begun();
  pump.ExpectNote(EndMarker("@end:"));
  Write(program_out_, "you@en");
  pump.ReadWaiting();
  EXPECT_EQ(listener_.out, "you");
  pump.Drain();
  EXPECT_EQ(listener_.out, "you@en");
  EXPECT_EQ(pump.written_bytes(), 6u);
}

TEST(ReadPipe, ReadsAtMostSoMuch) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const os::Fd read(ends[0]);
  os::Fd write(ends[1]);
  ASSERT_TRUE(os::WriteAll(write.get(), "12345"));
  EXPECT_EQ(ReadPipe(read.get(), 3), "123");
  EXPECT_EQ(ReadPipe(read.get(), 3), "45");
  EXPECT_EQ(ReadPipe(read.get(), 3), std::nullopt);
  write.reset();
  EXPECT_EQ(ReadPipe(read.get(), 3), "");
}

TEST(OutputBufferTest, KeepsNoPartOfACharacter) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "aé€😀";
  for (uint64_t limit = 0; limit < text.size(); ++limit) {
    OutputBuffer buffer(limit);
    buffer.Append(text);
    const StreamResult result = buffer.Collect();
    EXPECT_TRUE(result.truncated);
    EXPECT_EQ(result.total_bytes, text.size());
    const std::string head = result.data.substr(0, result.head_bytes);
    const std::string tail = result.data.substr(result.head_bytes);
    EXPECT_TRUE(policy::IsValidUtf8(head)) << limit;
    EXPECT_TRUE(policy::IsValidUtf8(tail)) << limit;
    EXPECT_EQ(head, text.substr(0, head.size()));
    EXPECT_EQ(tail, text.substr(text.size() - tail.size()));
    EXPECT_GE(result.data.size() + 6, limit);
  }
}

TEST(OutputBufferTest, KeepsBytesThatAreNoText) {
  OutputBuffer buffer(8);
  buffer.Append(std::string(100, '\x80'));
  EXPECT_EQ(buffer.Collect().data, std::string(8, '\x80'));
}

}  // namespace
}  // namespace sandglass::server
