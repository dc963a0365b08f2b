#include "client/run/output_printer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "client/base/unique_fd.h"
#include "gtest/gtest.h"

namespace sandglass::client {
namespace {

class OutputPrinterTest : public ::testing::Test {
 protected:
  static std::string Content(const UniqueFd& fd) {
    std::string text(1 << 16, '\0');
    const ssize_t got = pread(fd.get(), text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return text;
  }
  std::string Out() const { return Content(out_); }
  std::string Err() const { return Content(err_); }

  int Print(v1::OutputStream stream, const v1::Output& output) {
    int error = 0;
    for (const OutputPiece& piece : PiecesOf(output)) {
      if (error == 0) error = printer_.Chunk(stream, piece.offset, piece.data);
    }
    return error;
  }

  UniqueFd out_{memfd_create("out", MFD_CLOEXEC)};
  UniqueFd err_{memfd_create("err", MFD_CLOEXEC)};
  OutputPrinter printer_{out_.get(), err_.get()};
};

constexpr auto kOut = v1::OUTPUT_STREAM_STDOUT;
constexpr auto kErr = v1::OUTPUT_STREAM_STDERR;

TEST_F(OutputPrinterTest, PassesRawBytesToWhatIsNoTerminal) {
  const std::string raw("\x1b[31m\0\xff\r", 8);
  EXPECT_EQ(printer_.Chunk(kOut, 0, raw), 0);
  EXPECT_EQ(printer_.Chunk(kErr, 0, "err"), 0);
  EXPECT_EQ(printer_.Finish(), 0);
  EXPECT_EQ(Out(), raw);
  EXPECT_EQ(Err(), "err");
}

TEST_F(OutputPrinterTest, PrintsWhatTheFinalAnswerRepeatsOnce) {
  printer_.Chunk(kOut, 0, "hello ");
  v1::Output all;
  all.set_data("hello world");
  all.set_total_bytes(11);
  Print(kOut, all);
  EXPECT_EQ(Out(), "hello world");
  EXPECT_EQ(Err(), "");
}

TEST_F(OutputPrinterTest, SaysWhatIsMissingBetweenHeadAndTail) {
  v1::Output output;
  output.set_data("headtail");
  output.set_head_bytes(4);
  output.set_total_bytes(108);
  output.set_truncated(true);
  Print(kOut, output);
  EXPECT_EQ(Out(), "headtail");
  EXPECT_EQ(Err(), "sandglass: 100 bytes of stdout are left out here\n");
}

TEST_F(OutputPrinterTest, FillsInTheTailThatWasNotStreamed) {
  printer_.Chunk(kOut, 0, "head+more");
  v1::Output output;
  output.set_data("headtail");
  output.set_head_bytes(4);
  output.set_total_bytes(20);
  output.set_truncated(true);
  Print(kOut, output);
  EXPECT_EQ(Out(), "head+moretail");
  EXPECT_EQ(Err(), "sandglass: 7 bytes of stdout are left out here\n");
}

TEST_F(OutputPrinterTest, SurvivesFiguresThatCannotBe) {
  v1::Output output;
  output.set_data("abc");
  output.set_truncated(true);
  output.set_head_bytes(~uint64_t{0});
  output.set_total_bytes(1);
  EXPECT_EQ(Print(kOut, output), 0);
  EXPECT_EQ(Out(), "abc");
  EXPECT_EQ(printer_.Chunk(kOut, ~uint64_t{0}, "xyz"), 0);
  EXPECT_EQ(printer_.Chunk(static_cast<v1::OutputStream>(9), 0, "xyz"), 0);
}

TEST_F(OutputPrinterTest, StartsItsOwnLinesAtALinesStart) {
  printer_.Chunk(kErr, 0, "no newline");
  printer_.Line("verdict");
  printer_.Line("note");
  EXPECT_EQ(Err(), "no newline\nverdict\nnote\n");
}

TEST_F(OutputPrinterTest, HasNoColourWithoutATerminal) {
  EXPECT_EQ(printer_.colour(), Colour::kOff);
}

TEST(OutputPrinterErrorTest, ReportsAFullDevice) {
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  const UniqueFd null(open("/dev/null", O_WRONLY | O_CLOEXEC));
  OutputPrinter printer(full.get(), null.get());
  EXPECT_EQ(printer.Chunk(kOut, 0, "x"), ENOSPC);
  EXPECT_EQ(printer.Chunk(kErr, 0, "x"), 0);
}

}  // namespace
}  // namespace sandglass::client
