// Requests that must be refused, each by the field that is wrong.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/daemon/daemon_fixture.h"

namespace sandglass::testing {
namespace {

class BadRequest : public DaemonTest {
 protected:
  // Whatever a test sent: the daemon must still run programs.
  void TearDown() override {
    EXPECT_THAT(Run(Bash("echo alive")), OutcomeIs(v1::OUTCOME_OK));
    DaemonTest::TearDown();
  }

  static void ExpectRefused(const v1::RunCodeRequest& request,
                            const std::string& field) {
    EXPECT_THAT(Run(request), RefusesField(field));
  }
};

TEST_F(BadRequest, AnUnknownLanguageIsRefused) {
  ExpectRefused(Program("klingon", "x"), "language");
  ExpectRefused(Program("", "x"), "language");
  ExpectRefused(Program("../python", "x"), "language");
}

TEST_F(BadRequest, AnUnknownProfileIsRefused) {
  v1::RunCodeRequest request = Bash("true");
  for (const char* profile : {"nope", "../default", "Default "}) {
    request.set_profile(profile);
    ExpectRefused(request, "profile");
  }
}

TEST_F(BadRequest, EmptyCodeIsRefused) { ExpectRefused(Python(""), "code"); }

TEST_F(BadRequest, ANulInTheCodeIsRefused) {
  ExpectRefused(Python(std::string_view("print(1)\0", 9)), "code");
}

TEST_F(BadRequest, InvalidUtf8IsRefused) {
  // A message class would not write these bytes; fields 1 (language), 2 (code).
  const std::string body(
      "\x0a\x04"
      "bash"
      "\x12\x06"
      "# \xff\xfe\n\n",
      14);
  const grpc::Status status =
      client().CallRaw("/sandglass.v1.SandboxService/RunCode", body, nullptr);
  EXPECT_THAT(status, StatusIs(grpc::StatusCode::INVALID_ARGUMENT));
  EXPECT_THAT(status.error_message(), ::testing::HasSubstr("UTF-8"));
}

TEST_F(BadRequest, BytesThatAreNoMessageAreRefused) {
  for (const std::string& body :
       {std::string("\xff\xff\xff\xff"), std::string("\x12\x7f"),
        std::string(1000, '\x0b')}) {
    const grpc::Status status =
        client().CallRaw("/sandglass.v1.SandboxService/RunCode", body, nullptr);
    EXPECT_FALSE(status.ok());
  }
}

TEST_F(BadRequest, AnUnknownMethodIsRefused) {
  EXPECT_THAT(
      client().CallRaw("/sandglass.v1.SandboxService/Nope", "", nullptr),
      StatusIs(grpc::StatusCode::UNIMPLEMENTED));
}

TEST_F(BadRequest, CodeAboveItsSizeIsRefused) {
  std::string code = "true #";
  code.resize(1 << 20, 'x');
  EXPECT_THAT(Run(Bash(code)), OutcomeIs(v1::OUTCOME_OK));
  code.push_back('x');
  ExpectRefused(Bash(code), "code");
}

TEST_F(BadRequest, ArgumentsAboveTheirSizeAreRefused) {
  v1::RunCodeRequest many = Bash("true");
  for (int i = 0; i < 100000; ++i) many.add_args("x");
  ExpectRefused(many, "args");
  v1::RunCodeRequest large = Bash("true");
  for (int i = 0; i < 40; ++i) large.add_args(std::string(100 << 10, 'x'));
  ExpectRefused(large, "args");
}

TEST_F(BadRequest, ANulInArgumentsIsRefused) {
  v1::RunCodeRequest request = Bash("true");
  request.add_args("fine");
  request.add_args(std::string("a\0b", 3));
  ExpectRefused(request, "args[1]");
}

TEST_F(BadRequest, AnEnvironmentAboveItsSizeIsRefused) {
  v1::RunCodeRequest request = Bash("true");
  for (int i = 0; i < 40; ++i) {
    (*request.mutable_env())[absl::StrCat("V", i)] =
        std::string(100 << 10, 'x');
  }
  ExpectRefused(request, "env");
}

TEST_F(BadRequest, BadEnvironmentNamesAndValuesAreRefused) {
  for (const std::string& name :
       {std::string(""), std::string("1A"), std::string("A=B"),
        std::string("A B"), std::string("Ä")}) {
    v1::RunCodeRequest request = Bash("true");
    (*request.mutable_env())[name] = "x";
    const RunResult result = Run(request);
    EXPECT_THAT(result, StatusIs(grpc::StatusCode::INVALID_ARGUMENT)) << name;
    EXPECT_FALSE(DetailsOf(result.status).fields.empty());
  }
  v1::RunCodeRequest request = Bash("true");
  (*request.mutable_env())["A"] = std::string("x\0y", 3);
  EXPECT_THAT(Run(request), StatusIs(grpc::StatusCode::INVALID_ARGUMENT));
}

TEST_F(BadRequest, BadPathsOfInputFilesAreRefused) {
  for (const std::string& path :
       {std::string(""), std::string("/etc/passwd"), std::string(".."),
        std::string("../x"), std::string("a/../../x"), std::string("a/../x"),
        std::string("a/.."), std::string("a\0b", 3), std::string(600, 'x'),
        std::string(300, 'x'), std::string("dir/")}) {
    v1::RunCodeRequest request = Bash("true");
    request.add_files()->set_path("fine");
    request.add_files()->set_path(path);
    EXPECT_THAT(Run(request), RefusesField(std::string("files[1].path")))
        << "for '" << path << "'";
  }
}

TEST_F(BadRequest, TheSameInputFileTwiceIsRefused) {
  v1::RunCodeRequest request = Bash("true");
  request.add_files()->set_path("same");
  request.add_files()->set_path("same");
  ExpectRefused(request, "files[1].path");
}

TEST_F(BadRequest, BadPathsToFetchAreRefused) {
  for (const std::string& path :
       {std::string(""), std::string("/etc/passwd"), std::string("../x"),
        std::string("a/../../etc/passwd"), std::string("/**"),
        std::string("a\0b", 3), std::string(5000, 'x')}) {
    v1::RunCodeRequest request = Bash("true");
    request.add_fetch("fine");
    request.add_fetch(path);
    EXPECT_THAT(Run(request), RefusesField(std::string("fetch[1]")))
        << "for '" << path.substr(0, 80) << "'";
  }
}

TEST_F(BadRequest, ARequestIdAboveItsSizeIsRefused) {
  v1::RunCodeRequest request = Bash("true");
  request.set_request_id(std::string(129, 'x'));
  ExpectRefused(request, "request_id");
  request.set_request_id("with\nnewline");
  ExpectRefused(request, "request_id");
}

TEST_F(BadRequest, TooManyLabelsAreRefused) {
  v1::RunCodeRequest request = Bash("true");
  for (int i = 0; i < 33; ++i) {
    (*request.mutable_labels())[absl::StrCat("l", i)] = "x";
  }
  ExpectRefused(request, "labels");
}

TEST_F(BadRequest, SeveralMistakesAreNamedTogether) {
  v1::RunCodeRequest request = Program("klingon", "");
  request.set_profile("nope");
  const RunResult result = Run(request);
  EXPECT_THAT(result, RefusesField(std::string("language")));
  EXPECT_THAT(result, RefusesField(std::string("code")));
  EXPECT_THAT(result, RefusesField(std::string("profile")));
}

TEST_F(BadRequest, AMessageOverSixteenMebibytesIsRefused) {
  v1::RunCodeRequest request = Bash("wc -c");
  request.set_stdin(std::string((16 << 20) + 1, 'x'));
  const RunResult result = Run(request);
  EXPECT_THAT(result, StatusIs(grpc::StatusCode::RESOURCE_EXHAUSTED));
}

TEST_F(BadRequest, InputFilesAboveTheWorkspaceAreRefused) {
  v1::RunCodeRequest request = Bash("true");
  request.mutable_limits()->set_workspace_bytes(4 << 20);
  v1::InputFile* file = request.add_files();
  file->set_path("big");
  file->set_content(std::string(6 << 20, 'x'));
  const RunResult result = Run(request);
  EXPECT_THAT(result, StatusIs(grpc::StatusCode::INVALID_ARGUMENT));
}

}  // namespace
}  // namespace sandglass::testing
