// The binary started with standard descriptors closed: no connection or counter
// of its own may be taken for them.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using ::testing::HasSubstr;

// A command line of the shell with the binary in it.
SubprocessResult Shell(const FakeDaemon& daemon, const std::string& arguments) {
  SubprocessOptions options =
      daemon.Client({"-c", std::string(SANDGLASS_BINARY) + " " + arguments +
                               "; echo code $? >&2"});
  options.program = "/bin/sh";
  return RunProcess(options);
}

TEST(CliDescriptorsTest, ClosedInputIsAtItsEnd) {
  FakeDaemon daemon;
  daemon.execs.on_execute = [](grpc::ServerContext&,
                               const v1::ExecuteRequest& first,
                               ExecServerStream& stream) {
    EXPECT_FALSE(first.start().spec().open_stdin());
    SendExecStarted(stream, "e-1");
    SendExecEnd(stream, ExitedWith(0));
    return grpc::Status::OK;
  };
  EXPECT_EQ(Shell(daemon, "session exec s -- cat <&-").err, "code 0\n");
}

TEST(CliDescriptorsTest, ClosedOutputIsAnError) {
  FakeDaemon daemon;
  daemon.sessions.on_create_session = [](const auto&, auto& response) {
    *response.mutable_session() = SessionWith('1');
    return grpc::Status::OK;
  };
  const SubprocessResult result = Shell(daemon, "session create >&-");
  EXPECT_THAT(result.err, HasSubstr("cannot write the output"));
  EXPECT_THAT(result.err, HasSubstr("code 125\n"));
}

TEST(CliDescriptorsTest, ClosedErrorOutputHarmsNothing) {
  FakeDaemon daemon;
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.mutable_stdout()->set_data("output");
  daemon.Answer(response);
  const SubprocessResult result = Shell(daemon, "run -l py -c x 2>&-");
  EXPECT_EQ(result.out, "output");
  EXPECT_EQ(result.err, "code 0\n");
}

}  // namespace
}  // namespace sandglass::client
