// The trace that calls belong to, through the binary.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_daemon.h"
#include "tests/client/mcp/mcp_fixture.h"

namespace sandglass::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kOne[] =
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr char kOther[] =
    "00-11111111111111111111111111111111-2222222222222222-00";

class CliTraceTest : public ::testing::Test {
 protected:
  CliTraceTest() {
    daemon_.on_stream = [this](grpc::ServerContext& context,
                               const v1::RunCodeRequest&,
                               StreamWriter& writer) {
      Note(context);
      v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
      response.set_trace_id("0af7651916cd43dd8448eb211c80319c");
      response.mutable_timings()->mutable_run()->set_nanos(12'300'000);
      response.mutable_timings()->mutable_total()->set_nanos(14'000'000);
      SendResult(writer, response);
      return grpc::Status::OK;
    };
    daemon_.execs.on_execute = [this](grpc::ServerContext& context,
                                      const v1::ExecuteRequest&,
                                      ExecServerStream& stream) {
      Note(context);
      SendExecStarted(stream, "e-1");
      SendExecEnd(stream, ExitedWith(0));
      return grpc::Status::OK;
    };
  }

  void Note(const grpc::ServerContext& context) {
    std::vector<std::string> values;
    const auto range = context.client_metadata().equal_range("traceparent");
    for (auto entry = range.first; entry != range.second; ++entry) {
      values.emplace_back(entry->second.data(), entry->second.size());
    }
    seen_ = values;
  }

  SubprocessResult Client(std::vector<std::string> args,
                          const std::string& traceparent) const {
    SubprocessOptions options = daemon_.Client(std::move(args));
    options.env.push_back("TRACEPARENT=" + traceparent);
    return RunProcess(options);
  }

  FakeDaemon daemon_;
  Shared<std::vector<std::string>> seen_;
};

TEST_F(CliTraceTest, RunsAndCommandsBelongToTheEnvironments) {
  EXPECT_EQ(Client({"run", "-l", "py", "-c", "1"}, kOne).exit_code, 0);
  EXPECT_THAT(seen_.Get(), ElementsAre(kOne));
  EXPECT_EQ(Client({"session", "run", "ses-1", "-c", "1"}, kOther).exit_code,
            0);
  EXPECT_THAT(seen_.Get(), ElementsAre(kOther));
  EXPECT_EQ(Client({"session", "exec", "ses-1", "--", "true"}, kOne).exit_code,
            0);
  EXPECT_THAT(seen_.Get(), ElementsAre(kOne));
}

TEST_F(CliTraceTest, WhatIsNotWellFormedIsNotSent) {
  EXPECT_EQ(Client({"run", "-l", "py", "-c", "1"}, "00-1-2-3").exit_code, 0);
  EXPECT_THAT(seen_.Get(), IsEmpty());
}

TEST_F(CliTraceTest, AnMcpCallHasItsOwn) {
  const auto request = [](const std::string& meta) {
    return Request("1", "tools/call",
                   R"({"name":"run_code","arguments":{"language":"python",)"
                   R"("code":"1"},"_meta":{)" +
                       meta + "}}") +
           "\n";
  };
  const std::string other = R"("traceparent":")" + std::string(kOther) + "\"";
  const auto call = [&](const std::string& meta) {
    SubprocessOptions options = daemon_.Client({"mcp"});
    options.env.push_back(std::string("TRACEPARENT=") + kOne);
    options.input_pipe = true;
    Subprocess client(options);
    client.Send(request(meta));
    EXPECT_TRUE(client.ReadUntil("\"id\":1,"));
    client.CloseInput();
    EXPECT_EQ(client.Wait().exit_code, 0);
  };
  call(other);
  EXPECT_THAT(seen_.Get(), ElementsAre(kOther));
  call("");
  EXPECT_THAT(seen_.Get(), ElementsAre(kOne));
  call(R"("traceparent":7)");
  EXPECT_THAT(seen_.Get(), ElementsAre(kOne));
}

TEST_F(CliTraceTest, WhoAsksIsShownTheTraceAndTheTimes) {
  const std::vector<std::string> run = {"run", "-l", "py", "-c", "1"};
  EXPECT_THAT(Client(run, kOne).err, Not(HasSubstr("trace")));
  std::vector<std::string> verbose = run;
  verbose.push_back("-v");
  EXPECT_THAT(Client(verbose, kOne).err,
              HasSubstr("sandglass: run 12.3 ms, total 14.0 ms\n"
                        "sandglass: trace 0af7651916cd43dd8448eb211c80319c\n"));
}

TEST_F(CliTraceTest, JsonHasTheTrace) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.set_trace_id("0af7651916cd43dd8448eb211c80319c");
  daemon_.Answer(response);
  const SubprocessResult result =
      Client({"run", "-l", "py", "-c", "1", "--json"}, kOne);
  EXPECT_THAT(result.out,
              HasSubstr(R"("traceId":"0af7651916cd43dd8448eb211c80319c")"));
}

}  // namespace
}  // namespace sandglass::client
