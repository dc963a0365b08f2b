// A profile that has secrets replaced in all that is printed or displayed.

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/calls/execs.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kProfile[] = R"({
  "description": "Tells no secrets",
  "redaction": {
    "patterns": ["github-token"],
    "custom": [{"name": "employee-id", "pattern": "EMP-[0-9]{6}"}]
  }
})";
constexpr char kMark[] = "[redacted:employee-id]";
// An interactive program would have its output cut like this.
constexpr char kPieces[] =
    "import os\n"
    "for piece in (b'id EMP', b'-12', b'3456, gh', b'p_' + b'A' * 36, "
    "b'!\\n'):\n"
    "    os.write(1, piece)\n"
    "os.write(2, b'EMP-000000')\n";

class Redaction : public DaemonTest {
 protected:
  static void SetUpTestSuite() {
    policy_ = MakeTestDirectory();
    std::error_code error;
    std::filesystem::copy(SANDGLASS_SOURCE_DIR "/policy/data", policy_,
                          std::filesystem::copy_options::recursive, error);
    EXPECT_FALSE(error) << error.message();
    std::ofstream(policy_ + "/profiles/redacting.json") << kProfile;
    StartSuite({.extra_arguments = {"--policy-dir", policy_}});
  }
  static void TearDownTestSuite() {
    DaemonTest::TearDownTestSuite();
    std::error_code ignored;
    std::filesystem::remove_all(policy_, ignored);
  }
  static v1::RunCodeRequest Redacted(v1::RunCodeRequest request) {
    request.set_profile("redacting");
    return request;
  }
  static v1::CreateSessionRequest RedactedSession(const std::string& language) {
    v1::CreateSessionRequest request;
    request.set_language(language);
    request.set_profile("redacting");
    return request;
  }

 private:
  static std::string policy_;
};

std::string Redaction::policy_;

const std::string& ExpectedOutput() {
  static const auto& text = *new std::string(
      absl::StrCat("id ", kMark, ", [redacted:github-token]!\n"));
  return text;
}

TEST_F(Redaction, ARunsOutputIsRedactedInTheAnswerAndInTheStream) {
  const RunResult result = Run(Redacted(Python(kPieces)));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), ExpectedOutput());
  EXPECT_EQ(result.response.stdout().total_bytes(), ExpectedOutput().size());
  EXPECT_EQ(result.response.stderr().data(), kMark);

  const StreamResult stream = client().Stream(Redacted(Python(kPieces)));
  ASSERT_TRUE(stream.status.ok());
  EXPECT_EQ(stream.Data(v1::OUTPUT_STREAM_STDOUT), ExpectedOutput());
  EXPECT_EQ(stream.Data(v1::OUTPUT_STREAM_STDERR), kMark);
}

TEST_F(Redaction, OtherProfilesRedactNothing) {
  const RunResult result = Run(Python("print('EMP-123456')"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "EMP-123456\n");
}

TEST_F(Redaction, CompilerMessagesAreRedacted) {
  const v1::RunCodeRequest request =
      Redacted(Program("cpp", "#warning EMP-123456\nint main() {}\n"));
  const RunResult result = Run(request);
  ASSERT_THAT(result, IsOk());
  const std::string& said = result.response.compile().stderr().data();
  EXPECT_THAT(said, HasSubstr(kMark));
  EXPECT_THAT(said, Not(HasSubstr("EMP-123456")));
}

TEST_F(Redaction, ACellsOutputValuesAndErrorsAreRedacted) {
  TestSession session(client(), RedactedSession("python"));
  ASSERT_THAT(session.status(), IsOk());
  RunResult result = session.Run(kPieces);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), ExpectedOutput());
  EXPECT_EQ(result.response.stderr().data(), kMark);
  result = session.Run("'EMP-' + '123456'");
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(ValueOf(result.response), absl::StrCat("'", kMark, "'"));
  result = session.Run("raise ValueError('no EMP-123456')");
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
  EXPECT_EQ(result.response.error().value(), absl::StrCat("no ", kMark));
  EXPECT_THAT(result.response.error().traceback(), HasSubstr(kMark));
  EXPECT_THAT(result.response.error().traceback(),
              Not(HasSubstr("EMP-123456")));
}

TEST_F(Redaction, ACommandsOutputIsRedactedOnPipesAndOnATerminal) {
  TestSession session(client(), RedactedSession(""));
  ASSERT_THAT(session.status(), IsOk());
  const auto execs = v1::ExecService::NewStub(grpc::CreateChannel(
      daemon().address(), grpc::InsecureChannelCredentials()));
  v1::ExecSpec spec = Command(
      session.id(), "printf EMP-12; printf '3456\\nEMP-'; printf EMP-0 >&2");
  ExecResult result = Execute(*execs, spec);
  ASSERT_EQ(result.outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(result.out(), absl::StrCat(kMark, "\nEMP-"));
  EXPECT_EQ(result.err(), "EMP-0");
  // As it was written.
  EXPECT_EQ(result.end->stdout_bytes(), 15u);

  spec.mutable_terminal();
  result = Execute(*execs, spec);
  ASSERT_EQ(result.outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(result.out(), absl::StrCat(kMark, "\r\nEMP-EMP-0"));
}

// More marks than what they stand for has bytes, and more than one piece.
TEST_F(Redaction, MarksLongerThanPiecesOfACommandsOutputAreWhole) {
  TestSession session(client(), RedactedSession(""));
  ASSERT_THAT(session.status(), IsOk());
  const auto execs = v1::ExecService::NewStub(grpc::CreateChannel(
      daemon().address(), grpc::InsecureChannelCredentials()));
  const ExecResult result =
      Execute(*execs, Command(session.id(), "yes EMP-123456 | head -n 20000"));
  ASSERT_EQ(result.outcome(), v1::OUTCOME_OK);
  std::string expected;
  for (int i = 0; i < 20000; ++i) absl::StrAppend(&expected, kMark, "\n");
  EXPECT_TRUE(result.out() == expected) << result.out().size();
  uint64_t sequence = 0;
  for (const v1::ExecOutput& piece : result.pieces) {
    EXPECT_EQ(piece.sequence(), ++sequence);
    EXPECT_LE(piece.data().size(), size_t{64} << 10);
  }
}

}  // namespace
}  // namespace sandglass::testing
