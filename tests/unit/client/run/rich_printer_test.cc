#include "client/run/rich_printer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "client/base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::ReadFile;

constexpr auto kOut = v1::OUTPUT_STREAM_STDOUT;
constexpr auto kErr = v1::OUTPUT_STREAM_STDERR;

v1::RichResult Text(uint64_t stdout_offset, uint64_t stderr_offset,
                    const std::string& text) {
  return RichOf(stdout_offset, stderr_offset, {{"text/plain", text}});
}

// Both streams go to one file, so that their order shows.
class RichPrinterTest : public ::testing::Test {
 protected:
  std::string All() const {
    std::string text(1 << 16, '\0');
    const ssize_t got = pread(fd_.get(), text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return text;
  }

  TempDir directory_;
  UniqueFd fd_{memfd_create("all", MFD_CLOEXEC)};
  OutputPrinter output_{fd_.get(), fd_.get()};
  ResultFiles files_ = *ResultFiles::Open(directory_.path());
  RichPrinter printer_{output_, files_};
};

TEST_F(RichPrinterTest, PrintsAValueAfterTheOutputBeforeIt) {
  EXPECT_EQ(printer_.Chunk(kOut, 0, "hello\n"), 0);
  EXPECT_EQ(printer_.Result(Text(6, 0, "42")), 0);
  EXPECT_EQ(All(), "hello\n42\n");
}

TEST_F(RichPrinterTest, AValueStartsALineOfItsOwn) {
  printer_.Chunk(kOut, 0, "no newline");
  printer_.Result(Text(10, 0, "42\n"));
  printer_.Chunk(kOut, 10, "more");
  EXPECT_EQ(All(), "no newline\n42\nmore");
}

TEST_F(RichPrinterTest, AResultThatIsAheadWaitsForItsOutput) {
  printer_.Result(Text(6, 3, "first"));
  printer_.Result(Text(8, 3, "second"));
  EXPECT_EQ(All(), "");
  printer_.Chunk(kOut, 0, "ab");
  printer_.Chunk(kErr, 0, "e1\ne2\n");
  EXPECT_EQ(All(), "abe1\ne2\n");
  // The piece is cut where the results belong.
  printer_.Chunk(kOut, 2, "cde\nf\ng\n");
  EXPECT_EQ(All(), "abe1\ne2\ncde\nfirst\nf\nsecond\ng\n");
}

TEST_F(RichPrinterTest, StandardErrorIsCutToo) {
  printer_.Result(Text(0, 2, "value"));
  printer_.Chunk(kErr, 0, "a\nb\n");
  EXPECT_EQ(All(), "a\nvalue\nb\n");
}

TEST_F(RichPrinterTest, WhatFollowsOnStdoutBringsAResultForward) {
  printer_.Result(Text(2, 50, "value"));
  printer_.Chunk(kOut, 0, "a\n");
  EXPECT_EQ(All(), "a\n");
  printer_.Chunk(kOut, 2, "b\n");
  EXPECT_EQ(All(), "a\nvalue\nb\n");
}

TEST_F(RichPrinterTest, ShowsWhatTheAnswerRepeatsOnce) {
  v1::RunCodeResponse response;
  response.mutable_stdout()->set_data("a\nb\n");
  response.mutable_stderr()->set_data("e\n");
  *response.add_results() = Text(2, 0, "one");
  *response.add_results() = Text(4, 2, "two");
  *response.add_results() = Text(4, 2, "three");
  printer_.Chunk(kOut, 0, "a\n");
  printer_.Result(response.results(0));
  EXPECT_EQ(printer_.Answer(response), 0);
  EXPECT_EQ(All(), "a\none\nb\ne\ntwo\nthree\n");
}

TEST_F(RichPrinterTest, AnAnswerAloneHasResultsAtTheirPlaces) {
  v1::RunCodeResponse response;
  v1::Output& output = *response.mutable_stdout();
  output.set_data("headtail");
  output.set_head_bytes(4);
  output.set_total_bytes(108);
  output.set_truncated(true);
  *response.add_results() = Text(2, 0, "in the head");
  *response.add_results() = Text(50, 0, "in what is missing");
  *response.add_results() = Text(106, 0, "in the tail");
  *response.add_results() = Text(~uint64_t{0}, ~uint64_t{0}, "nowhere");
  EXPECT_EQ(printer_.Answer(response), 0);
  EXPECT_EQ(All(),
            "he\nin the head\nad\nin what is missing\nsandglass: 100 bytes of "
            "stdout are left out here\nta\nin the tail\nil\nnowhere\n");
}

TEST_F(RichPrinterTest, TakesTheBestTextAndSavesTheRest) {
  printer_.Result(RichOf(0, 0,
                         {{"application/json", "{}"},
                          {"text/markdown", "*m*"},
                          {"text/plain", "<Figure>"},
                          {"text/html", "<b>"},
                          {"image/png", std::string("\x89PNG\0", 5)}}));
  printer_.Result(RichOf(0, 0, {{"application/json", "{\"a\":1}"}}));
  printer_.Result(RichOf(0, 0, {{"text/latex", "$x$"}}));
  const std::string html = directory_.Path("run-1-1.html");
  const std::string png = directory_.Path("run-1-2.png");
  EXPECT_EQ(All(), "<Figure>\n[text/html] " + html + "\n[image/png] " + png +
                       "\n{\"a\":1}\n$x$\n");
  EXPECT_EQ(ReadFile(html), "<b>");
  EXPECT_EQ(ReadFile(png), std::string("\x89PNG\0", 5));
  EXPECT_TRUE(printer_.all_saved());
}

TEST_F(RichPrinterTest, ATypeIsOneHarmlessLine) {
  printer_.Result(RichOf(0, 0, {{"image/\x1b[2J\n", "x"}}));
  EXPECT_EQ(All(),
            "[image/\\x1b[2J\\x0a] " + directory_.Path("run-1-1.bin") + "\n");
}

TEST_F(RichPrinterTest, SaysOnceThatAResultIsNotSaved) {
  std::filesystem::remove(directory_.path());
  EXPECT_EQ(printer_.Result(RichOf(0, 0, {{"image/png", "x"}})), 0);
  EXPECT_EQ(printer_.Result(RichOf(0, 0, {{"image/png", "x"}})), 0);
  EXPECT_FALSE(printer_.all_saved());
  EXPECT_EQ(All(),
            "sandglass: a result [image/png] is not saved: cannot make "
            "run-1-1.png: No such file or directory\n");
}

TEST_F(RichPrinterTest, PrintsTheErrorLast) {
  v1::RunCodeResponse response;
  response.mutable_stderr()->set_data("warning");
  *response.add_results() = Text(0, 0, "value");
  response.mutable_error()->set_name("ValueError");
  response.mutable_error()->set_value("bad");
  response.mutable_error()->set_traceback("Traceback\n  line\nValueError\n");
  printer_.Answer(response);
  EXPECT_EQ(All(), "value\nwarning\nTraceback\n  line\nValueError\n");
  response.mutable_error()->clear_traceback();
  printer_.Answer(response);
  EXPECT_THAT(All(), EndsWith("\nValueError: bad\n"));
}

TEST_F(RichPrinterTest, DoesNotHoldResultsWithoutEnd) {
  for (int i = 0; i < 300; ++i) {
    printer_.Result(Text(1000, 0, "r" + std::to_string(i)));
  }
  EXPECT_THAT(All(), HasSubstr("r43\n"));
  EXPECT_THAT(All(), EndsWith("r43\n"));
  printer_.Finish();
  EXPECT_THAT(All(), EndsWith("r299\n"));
}

TEST(RichPrinterErrorTest, ReportsAFullDevice) {
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  const UniqueFd null(open("/dev/null", O_WRONLY | O_CLOEXEC));
  OutputPrinter output(full.get(), null.get());
  ResultFiles files = *ResultFiles::Open(std::nullopt);
  RichPrinter printer(output, files);
  EXPECT_EQ(printer.Result(Text(0, 0, "x")), ENOSPC);
}

}  // namespace
}  // namespace sandglass::client
