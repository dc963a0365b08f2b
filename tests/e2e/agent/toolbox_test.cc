// The tools that models call, against the real daemon.

#include "client/toolbox/toolbox.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/connection/daemon.h"
#include "tests/support/daemon/daemon_fixture.h"

namespace sandglass::testing {
namespace {

using client::CallCancel;
using client::CodeCall;
using client::CommandCall;
using client::SandboxOptions;
using client::ToolAnswer;
using client::ToolBounds;
using client::Toolbox;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// A picture of one pixel.
constexpr char kPixel[] =
    "import base64\n"
    "pixel = base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==')\n"
    "open('pixel.png', 'wb').write(pixel)\n";

class ToolboxTest : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    if (HasFatalFailure()) return;
    absl::StatusOr<client::Daemon> opened =
        client::OpenDaemon(daemon().address());
    ASSERT_TRUE(opened.ok()) << opened.status();
    daemon_.emplace(*std::move(opened));
    toolbox_.emplace(*daemon_, ToolBounds());
  }
  void TearDown() override {
    if (!sandbox_.empty()) toolbox_->DeleteSandbox(sandbox_, cancel_);
    toolbox_.reset();
    daemon_.reset();
    DaemonTest::TearDown();
  }

  void MakeSandbox(const std::string& language) {
    SandboxOptions options;
    options.language = language;
    const absl::StatusOr<std::string> id =
        toolbox_->CreateSandbox(options, cancel_);
    ASSERT_TRUE(id.ok()) << id.status();
    sandbox_ = *id;
  }
  CodeCall Code(const std::string& language, const std::string& code) const {
    CodeCall call;
    call.sandbox_id = sandbox_;
    call.language = language;
    call.code = code;
    return call;
  }
  ToolAnswer RunCode(const std::string& language, const std::string& code) {
    return toolbox_->RunCode(Code(language, code), cancel_);
  }
  CommandCall Command(const std::string& command) const {
    CommandCall call;
    call.sandbox_id = sandbox_;
    call.command = command;
    return call;
  }
  ToolAnswer RunCommand(const std::string& command) {
    return toolbox_->RunCommand(Command(command), cancel_);
  }
  ToolAnswer Read(const std::string& path, uint64_t first = 1,
                  uint64_t lines = 0) {
    return toolbox_->ReadFile(sandbox_, path, first, lines, cancel_);
  }

  std::optional<client::Daemon> daemon_;
  std::optional<Toolbox> toolbox_;
  CallCancel cancel_;
  std::string sandbox_;
};

TEST_F(ToolboxTest, ARunOfItsOwnTellsVerdictOutputAndPictures) {
  std::string heard;
  const ToolAnswer answer = toolbox_->RunCode(
      Code("python", absl::StrCat(kPixel,
                                  "import sys\n"
                                  "print('hello')\n"
                                  "print('careful', file=sys.stderr)\n"
                                  "sys.exit(3)")),
      cancel_, [&](std::string_view bytes) { heard += bytes; });
  EXPECT_TRUE(answer.is_error);
  EXPECT_THAT(answer.text, StartsWith("exit 3 after "));
  EXPECT_THAT(answer.text, HasSubstr(", peak "));
  EXPECT_THAT(answer.text, HasSubstr("\nhello\n--- stderr ---\ncareful\n"));
  EXPECT_THAT(answer.text, HasSubstr("pixel.png: image/png, 70 B"));
  ASSERT_THAT(answer.images, SizeIs(1));
  EXPECT_EQ(answer.images[0].mime_type, "image/png");
  EXPECT_THAT(heard, AllOf(HasSubstr("hello\n"), HasSubstr("careful\n")));
}

TEST_F(ToolboxTest, ARunOfItsOwnShowsWhatPythonShows) {
  const ToolAnswer answer = RunCode(
      "python", absl::StrCat(kPixel,
                             "import os, sys\nos.makedirs('plots')\n"
                             "open('plots/a.png', 'wb').write(pixel)\n"
                             "open('/tmp/b.png', 'wb').write(pixel)\n"
                             "class P:\n  def _repr_png_(self): return pixel\n"
                             "import threading, time\n"
                             "P()"));
  EXPECT_FALSE(answer.is_error) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("plots/a.png: image/png"));
  EXPECT_THAT(answer.text, HasSubstr("/tmp/b.png: image/png"));
  // Those, the one that the test's beginning leaves, and the shown one.
  EXPECT_THAT(answer.images, SizeIs(4)) << answer.text;
  EXPECT_THAT(RunCode("python", "20 + 22").text,
              HasSubstr("--- value ---\n42\n"));
}

TEST_F(ToolboxTest, WhatStopsAProgramIsTheFirstLine) {
  CodeCall endless = Code("bash", "while :; do :; done");
  endless.timeout = absl::Milliseconds(500);
  ToolAnswer answer = toolbox_->RunCode(endless, cancel_);
  EXPECT_TRUE(answer.is_error);
  EXPECT_THAT(answer.text, StartsWith("stopped: time limit after "));
  EXPECT_THAT(answer.text, HasSubstr("(no output)"));
  answer = RunCode("cpp", "int main() { return nothing; }");
  EXPECT_TRUE(answer.is_error);
  EXPECT_THAT(answer.text,
              AllOf(StartsWith("compile error, it did not run"),
                    HasSubstr("--- compiler ---\n"), HasSubstr("nothing")));
  answer = RunCode("python", "import surely_not_there");
  EXPECT_THAT(answer.text,
              AllOf(StartsWith("exit 1 after "), HasSubstr("hint: ")));
}

TEST_F(ToolboxTest, ASandboxKeepsStateAndShowsValues) {
  ASSERT_NO_FATAL_FAILURE(MakeSandbox("python"));
  EXPECT_THAT(RunCode("python", "x = 20").text,
              AllOf(StartsWith("exit 0 after "), HasSubstr("(no output)")));
  const ToolAnswer answer = RunCode("", "print('so'); x + 1");
  EXPECT_FALSE(answer.is_error);
  EXPECT_THAT(answer.text, HasSubstr("\nso\n--- value ---\n21\n"));
  const ToolAnswer wrong = RunCode("python", "1 / 0");
  EXPECT_TRUE(wrong.is_error);
  EXPECT_THAT(wrong.text, AllOf(HasSubstr("--- error ---\n"),
                                HasSubstr("ZeroDivisionError")));
  const ToolAnswer picture = RunCode(
      "python",
      absl::StrCat(kPixel,
                   "class P:\n  def _repr_png_(self): return pixel\nP()"));
  ASSERT_THAT(picture.images, SizeIs(1)) << picture.text;
  EXPECT_EQ(picture.images[0].bytes.substr(1, 3), "PNG");
}

TEST_F(ToolboxTest, AllLanguagesRunOverTheSandboxsFiles) {
  ASSERT_NO_FATAL_FAILURE(MakeSandbox("python"));
  ASSERT_FALSE(RunCode("python", "open('a', 'w').write('here')").is_error);
  EXPECT_FALSE(RunCode("sh", "x=kept").is_error);
  const ToolAnswer shell = RunCode("sh", "cat a; echo; echo $x");
  EXPECT_THAT(shell.text,
              AllOf(StartsWith("exit 0"), HasSubstr("\nhere\nkept")));
  const ToolAnswer compiled =
      RunCode("cpp",
              "#include <fstream>\n#include <iostream>\nint main() { "
              "std::cout << std::ifstream(\"a\").rdbuf(); return 4; }");
  EXPECT_THAT(compiled.text, AllOf(StartsWith("exit 4"), HasSubstr("here")));
  EXPECT_FALSE(toolbox_->RestartKernel(sandbox_, "bash", cancel_).is_error);
  EXPECT_THAT(RunCode("sh", "echo \"<$x>\"").text, HasSubstr("<>"));
}

TEST_F(ToolboxTest, LinesAreInsertedWhereTheyAreToBe) {
  ASSERT_NO_FATAL_FAILURE(MakeSandbox("python"));
  const auto content = [&] { return RunCommand("cat f").text; };
  ASSERT_FALSE(
      toolbox_->WriteFile(sandbox_, "f", "one\ntwo", cancel_).is_error);
  EXPECT_FALSE(
      toolbox_->InsertLines(sandbox_, "f", 0, "zero", cancel_).is_error);
  EXPECT_THAT(content(), HasSubstr("zero\none\ntwo"));
  EXPECT_FALSE(
      toolbox_->InsertLines(sandbox_, "f", 3, "three\n", cancel_).is_error);
  EXPECT_THAT(content(), HasSubstr("zero\none\ntwo\nthree"));
  const ToolAnswer beyond =
      toolbox_->InsertLines(sandbox_, "f", 9, "x", cancel_);
  EXPECT_TRUE(beyond.is_error);
  EXPECT_THAT(beyond.text, HasSubstr("has only 4 lines"));
}

TEST_F(ToolboxTest, LongOutputIsCutAndWholeInTheSandbox) {
  ASSERT_NO_FATAL_FAILURE(MakeSandbox("python"));
  const ToolAnswer answer = RunCommand("seq 100000");
  EXPECT_FALSE(answer.is_error);
  EXPECT_LE(answer.text.size(), ToolBounds().text_bytes);
  EXPECT_THAT(answer.text,
              AllOf(HasSubstr("\n1\n2\n3\n"), HasSubstr("\n99999\n100000\n"),
                    HasSubstr("of 588895 bytes are cut here")));
  const size_t at = answer.text.find("/workspace/.sandglass/outputs/");
  ASSERT_NE(at, std::string::npos) << answer.text;
  const std::string path =
      answer.text.substr(at, answer.text.find(' ', at) - at);
  EXPECT_THAT(RunCommand(absl::StrCat("wc -c < ", path)).text,
              HasSubstr("588895\n"));
  EXPECT_THAT(Read(path, 50000, 2).text,
              AllOf(StartsWith("50000\n50001\n"),
                    HasSubstr("[lines 50000-50001 of 100000; go on with "
                              "first_line=50002]")));
}

TEST_F(ToolboxTest, ACommandsTimeEndsItOrIsRefused) {
  ASSERT_NO_FATAL_FAILURE(MakeSandbox("python"));
  CommandCall call = Command("sleep 600");
  call.timeout = absl::Milliseconds(300);
  EXPECT_THAT(toolbox_->RunCommand(call, cancel_).text,
              StartsWith("stopped: time limit after "));
  call.timeout = absl::Hours(10);
  EXPECT_THAT(toolbox_->RunCommand(call, cancel_).text,
              AllOf(HasSubstr("wall_time"), HasSubstr("start_command")));
  call.directory = "nowhere";
  call.timeout = absl::ZeroDuration();
  const ToolAnswer answer = toolbox_->RunCommand(call, cancel_);
  EXPECT_TRUE(answer.is_error);
  EXPECT_FALSE(answer.sandbox_gone);
  EXPECT_THAT(answer.text, HasSubstr("DIRECTORY_NOT_FOUND"));
}

TEST_F(ToolboxTest, SavedOutputsAreBoundedAndTheLatestIsThere) {
  ASSERT_NO_FATAL_FAILURE(MakeSandbox("python"));
  for (int i = 0; i < 4; ++i) {
    ASSERT_THAT(RunCommand("seq 1000000").text, HasSubstr("is in the file"));
  }
  // Two of 6.9 MB have room.
  EXPECT_THAT(RunCommand("ls .sandglass/outputs | wc -l").text,
              HasSubstr("\n2\n"));
}

TEST_F(ToolboxTest, LongOutputWithoutASandboxIsCut) {
  const ToolAnswer answer = RunCode("python",
                                    "print('x' * 60 + '\\n' * 1) or "
                                    "[print(i) for i in range(9999)]");
  EXPECT_LE(answer.text.size(), ToolBounds().text_bytes);
  EXPECT_THAT(answer.text, AllOf(HasSubstr("a run without a sandbox keeps no "
                                           "more"),
                                 HasSubstr("\n9998\n")));
}

TEST_F(ToolboxTest, ACommandInTheBackgroundIsReadAndStopped) {
  ASSERT_NO_FATAL_FAILURE(MakeSandbox(""));
  ASSERT_FALSE(RunCommand("mkfifo fifo").is_error);
  const ToolAnswer started = toolbox_->StartCommand(
      Command("echo begun; read line < fifo; echo more; exec sleep 600"),
      cancel_);
  EXPECT_FALSE(started.is_error) << started.text;
  ASSERT_THAT(started.text,
              AllOf(StartsWith("command "), HasSubstr("has been started")));
  const std::string id = started.text.substr(8, started.text.find(' ', 8) - 8);
  ToolAnswer output =
      toolbox_->ReadOutput(sandbox_, id, 1, absl::Minutes(1), cancel_);
  EXPECT_THAT(output.text, AllOf(HasSubstr("still runs"), HasSubstr("begun\n"),
                                 HasSubstr("and from 2 goes on")));
  ASSERT_FALSE(RunCommand("echo line > fifo").is_error);
  output = toolbox_->ReadOutput(sandbox_, id, 2, absl::Minutes(1), cancel_);
  EXPECT_THAT(output.text, AllOf(HasSubstr("more\n"), Not(HasSubstr("begun"))));
  const ToolAnswer stopped = toolbox_->StopCommand(sandbox_, id, cancel_);
  EXPECT_FALSE(stopped.is_error);
  EXPECT_THAT(stopped.text, HasSubstr("has ended: "));
  output = toolbox_->ReadOutput(sandbox_, id, 0, absl::ZeroDuration(), cancel_);
  EXPECT_THAT(output.text,
              AllOf(HasSubstr("begun\nmore\n"), Not(HasSubstr("goes on"))));
  EXPECT_THAT(
      toolbox_->ReadOutput(sandbox_, "none", 0, absl::ZeroDuration(), cancel_)
          .text,
      HasSubstr("EXEC_NOT_FOUND"));
}

TEST_F(ToolboxTest, FilesAreWrittenReadEditedAndListed) {
  ASSERT_NO_FATAL_FAILURE(MakeSandbox("python"));
  std::string big;
  for (int i = 1; i <= 300'000; ++i) absl::StrAppend(&big, i, "\n");
  EXPECT_THAT(toolbox_->WriteFile(sandbox_, "d/e/big", big, cancel_).text,
              HasSubstr(absl::StrCat("wrote ", big.size(), " bytes")));
  EXPECT_THAT(RunCommand("tail -1 d/e/big").text, HasSubstr("300000\n"));
  EXPECT_THAT(toolbox_->WriteFile(sandbox_, "empty", "", cancel_).text,
              HasSubstr("wrote 0 bytes"));
  EXPECT_THAT(Read("empty").text, HasSubstr("is empty"));
  EXPECT_THAT(Read("empty", 5).text, HasSubstr("is empty"));
  toolbox_->WriteFile(sandbox_, "f", "one\ntwo\none", cancel_);
  EXPECT_EQ(Read("f").text, "one\ntwo\none");
  ToolAnswer edited =
      toolbox_->EditFile(sandbox_, "f", "one", "1", false, cancel_);
  EXPECT_TRUE(edited.is_error);
  EXPECT_THAT(edited.text, HasSubstr("FILE_MULTIPLE"));
  edited = toolbox_->EditFile(sandbox_, "f", "three", "3", false, cancel_);
  EXPECT_THAT(edited.text, HasSubstr("exactly as it is there"));
  edited = toolbox_->EditFile(sandbox_, "f", "one", "1", true, cancel_);
  EXPECT_EQ(edited.text, "replaced 2 places in f");
  EXPECT_EQ(Read("f").text, "1\ntwo\n1");
  ASSERT_FALSE(RunCommand("ln -s f link; head -c 3000 /bin/sh > sh").is_error);
  EXPECT_THAT(Read("sh").text, HasSubstr("ELF program or library, 2.9 KiB"));
  const ToolAnswer list = toolbox_->ListFiles(sandbox_, "", cancel_);
  EXPECT_THAT(list.text,
              AllOf(HasSubstr("/workspace: 5 entries\n"), HasSubstr("\nd/\n"),
                    HasSubstr("\nempty  0 B\n"), HasSubstr("\nlink -> f\n")));
  EXPECT_THAT(Read("missing").text,
              AllOf(HasSubstr("FILE_NOT_FOUND"), HasSubstr("list the")));
}

TEST_F(ToolboxTest, ThousandsOfEntriesAreCounted) {
  ASSERT_NO_FATAL_FAILURE(MakeSandbox("python"));
  ASSERT_FALSE(RunCommand("mkdir m; cd m; seq 1500 | xargs touch").is_error);
  EXPECT_THAT(toolbox_->ListFiles(sandbox_, "m", cancel_).text,
              AllOf(StartsWith("m: 1500 entries"),
                    HasSubstr("the first 500 of 1500 entries")));
}

TEST_F(ToolboxTest, WhatIsNoTextIsTextInTheAnswer) {
  ASSERT_NO_FATAL_FAILURE(MakeSandbox("python"));
  EXPECT_THAT(RunCommand("printf 'a\\377b\\0c\\033[1m'").text,
              HasSubstr("\na\xef\xbf\xbd"
                        "b\xe2\x90\x80"
                        "c\x1b[1m"));
}

TEST_F(ToolboxTest, ASandboxThatIsGoneIsTold) {
  ASSERT_NO_FATAL_FAILURE(MakeSandbox("python"));
  EXPECT_FALSE(toolbox_->DeleteSandbox(sandbox_, cancel_).is_error);
  for (const ToolAnswer& answer :
       {RunCode("python", "1"), RunCommand("true"), Read("f"),
        toolbox_->WriteFile(sandbox_, "f", "x", cancel_),
        toolbox_->ListFiles(sandbox_, "", cancel_)}) {
    EXPECT_TRUE(answer.is_error);
    EXPECT_TRUE(answer.sandbox_gone) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("create_sandbox"));
  }
  sandbox_.clear();
}

TEST_F(ToolboxTest, TheSandboxWithTheSameLabelsIsTaken) {
  SandboxOptions options;
  options.language = "python";
  options.labels = {{"thread", "7"}};
  options.get_or_create = true;
  const auto first = toolbox_->CreateSandbox(options, cancel_);
  const auto second = toolbox_->CreateSandbox(options, cancel_);
  ASSERT_TRUE(first.ok() && second.ok());
  sandbox_ = *first;
  EXPECT_EQ(*first, *second);
  options.language = "klingon";
  options.get_or_create = false;
  EXPECT_THAT(
      std::string(toolbox_->CreateSandbox(options, cancel_).status().message()),
      AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("klingon")));
}

TEST_F(ToolboxTest, ACancelEndsWhatRunsAndLaterCalls) {
  ASSERT_NO_FATAL_FAILURE(MakeSandbox("python"));
  CallCancel cancel;
  const ToolAnswer answer = toolbox_->RunCode(
      Code("python", "import time\nprint('on', flush=True)\ntime.sleep(600)"),
      cancel, [&](std::string_view) { cancel.Cancel(); });
  EXPECT_TRUE(answer.is_error);
  EXPECT_THAT(answer.text, StartsWith("cancelled"));
  EXPECT_THAT(toolbox_->ListLanguages(cancel).text, StartsWith("cancelled"));
  // The kernel is free again, with its state.
  EXPECT_THAT(RunCode("python", "print('free')").text, HasSubstr("free\n"));
  CallCancel other;
  EXPECT_THAT(toolbox_
                  ->RunCommand(Command("echo on; sleep 600"), other,
                               [&](std::string_view) { other.Cancel(); })
                  .text,
              StartsWith("cancelled"));
}

TEST_F(ToolboxTest, LanguagesAreListedWithWhatTheyAreAllowed) {
  const ToolAnswer answer = toolbox_->ListLanguages(cancel_);
  EXPECT_FALSE(answer.is_error);
  EXPECT_THAT(
      answer.text,
      AllOf(HasSubstr("python: Python 3"), HasSubstr("\nbash: "),
            HasSubstr("limits of a run: wall "), HasSubstr("network: ")));
}

}  // namespace
}  // namespace sandglass::testing
