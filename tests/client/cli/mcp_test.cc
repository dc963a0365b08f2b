// `sandglass mcp` through the binary, against a daemon in the test's process.
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/mcp/json_rpc.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_daemon.h"
#include "tests/client/mcp/mcp_fixture.h"

namespace sandglass::client {
namespace {

using ::testing::HasSubstr;

constexpr char kRun[] = R"({"language":"python","code":"1 + 1"})";

SubprocessOptions Mcp(const std::string& address,
                      std::vector<std::string> more = {}) {
  SubprocessOptions options;
  options.args = {"--address", address, "mcp"};
  options.args.insert(options.args.end(), more.begin(), more.end());
  options.input_pipe = true;
  return options;
}

// Its messages by what came on standard output, which must be JSON alone.
std::vector<Json> Messages(const std::string& out) {
  std::vector<Json> messages;
  for (const auto& line : absl::StrSplit(out, '\n', absl::SkipEmpty())) {
    messages.push_back(Json::parse(line.begin(), line.end(), nullptr, false));
    EXPECT_FALSE(messages.back().is_discarded()) << line;
  }
  return messages;
}

v1::RunCodeResponse Hello() {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.mutable_stdout()->set_data("hello\n");
  response.mutable_stdout()->set_total_bytes(6);
  return response;
}

TEST(CliMcpTest, AProgramRunsInTheFirstCall) {
  FakeDaemon daemon;
  daemon.Answer(Hello());
  Subprocess client(Mcp(daemon.address(), {"--profile", "strict"}));
  client.Send(Request("1", "tools/call", CallOf("run_code", kRun)) + "\n");
  ASSERT_TRUE(client.ReadUntil("\"id\":1,"));
  client.CloseInput();
  const SubprocessResult result = client.Wait();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  const std::vector<Json> messages = Messages(result.out);
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0]["result"]["isError"], false) << messages[0];
  EXPECT_THAT(messages[0]["result"]["content"][0]["text"].get<std::string>(),
              HasSubstr("hello"));
  const v1::RunCodeRequest request = daemon.last_request.Get();
  EXPECT_EQ(request.profile(), "strict");
  EXPECT_EQ(request.limits().wall_time().seconds(), 30);
}

TEST(CliMcpTest, NoDaemonIsNeededToListTools) {
  Subprocess client(Mcp("unix:/nonexistent/s"));
  client.Send(Request("1", "tools/list") + "\n");
  ASSERT_TRUE(client.ReadUntil("list_languages"));
  client.Send(Request("2", "tools/call", CallOf("list_languages")) + "\n");
  ASSERT_TRUE(client.ReadUntil("no daemon at"));
  client.CloseInput();
  const SubprocessResult result = client.Wait();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(Messages(result.out).back()["result"]["isError"], true);
}

// A name for whichever daemon is there now.
class SocketName {
 public:
  void PointTo(const FakeDaemon& daemon) {
    unlink(path_.c_str());
    EXPECT_EQ(symlink(daemon.socket_path().c_str(), path_.c_str()), 0);
  }
  std::string address() const { return "unix:" + path_; }

 private:
  const testing::TempDir directory_;
  const std::string path_ = directory_.Path("s");
};

TEST(CliMcpTest, ADaemonMayGoAndComeBack) {
  SocketName name;
  auto first = std::make_unique<FakeDaemon>();
  first->Answer(Hello());
  name.PointTo(*first);
  Subprocess client(Mcp(name.address()));
  const auto run = [&](const char* id) {
    client.Send(Request(id, "tools/call", CallOf("run_code", kRun)) + "\n");
    return client.ReadUntil(absl::StrCat("\"id\":", id, ","));
  };
  ASSERT_TRUE(run("1"));
  first.reset();
  ASSERT_TRUE(run("2"));
  FakeDaemon second;
  second.Answer(Hello());
  name.PointTo(second);
  ASSERT_TRUE(run("3"));
  client.CloseInput();
  const std::vector<Json> messages = Messages(client.Wait().out);
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0]["result"]["isError"], false);
  EXPECT_EQ(messages[1]["result"]["isError"], true);
  EXPECT_EQ(messages[2]["result"]["isError"], false) << messages[2];
}

TEST(CliMcpTest, ACancellationStopsTheRunInTheDaemon) {
  FakeDaemon daemon;
  daemon.on_stream = [&](grpc::ServerContext& context,
                         const v1::RunCodeRequest&, StreamWriter& writer) {
    SendStarted(writer);
    return daemon.WaitForCancel(context);
  };
  daemon.on_run = [&](const v1::RunCodeRequest&, v1::RunCodeResponse&) {
    return grpc::Status(grpc::StatusCode::INTERNAL, "not in one piece");
  };
  Subprocess client(Mcp(daemon.address()));
  client.Send(Request("1", "tools/call", CallOf("run_code", kRun)) + "\n");
  ASSERT_TRUE(Soon([&] { return daemon.runs > 0; }));
  client.Send(R"({"jsonrpc":"2.0","method":"notifications/cancelled",)"
              R"("params":{"requestId":1}})"
              "\n");
  EXPECT_TRUE(Soon([&] { return daemon.cancelled.load(); }));
  client.CloseInput();
  EXPECT_EQ(client.Wait().out, "");
}

TEST(CliMcpTest, ACallHasACeilingThatSaysWhatToDo) {
  FakeDaemon daemon;
  Subprocess client(Mcp(daemon.address()));
  client.Send(
      Request("1", "tools/call",
              CallOf("run_code",
                     R"({"language":"python","code":"1","timeout":50.5})")) +
      "\n");
  ASSERT_TRUE(client.ReadUntil("start_command"));
  EXPECT_EQ(daemon.runs, 0);
}

TEST(CliMcpTest, ASignalEndsTheServer) {
  for (const auto& more : {std::vector<std::string>(),
                           std::vector<std::string>{"--http", "127.0.0.1:0"}}) {
    Subprocess client(Mcp("unix:/nonexistent/s", more));
    if (more.empty()) {
      client.Send(Request("1", "ping") + "\n");
      ASSERT_TRUE(client.ReadUntil("\"id\":1"));
    } else {
      ASSERT_TRUE(client.ReadErrorUntil("/mcp\n"));
    }
    client.Signal(SIGTERM);
    EXPECT_EQ(client.Wait().exit_code, 0);
  }
}

TEST(CliMcpTest, HttpBeyondThisMachineNeedsAToken) {
  const testing::TempDir directory;
  const auto refused = [&](std::vector<std::string> more,
                           std::vector<std::string> env = {}) {
    SubprocessOptions options = Mcp("unix:/nonexistent/s", std::move(more));
    options.env = std::move(env);
    const SubprocessResult result = RunProcess(options);
    EXPECT_EQ(result.exit_code, 125);
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  EXPECT_THAT(refused({"--http", "0.0.0.0:0"}), HasSubstr("needs a token"));
  EXPECT_THAT(refused({"--http", "0.0.0.0:0"}, {"SANDGLASS_MCP_TOKEN=short"}),
              HasSubstr("at least 16"));
  testing::WriteFile(directory.Path("t"), "two words of a token\n");
  EXPECT_THAT(
      refused({"--http", "127.0.0.1:0", "--token-file", directory.Path("t")}),
      HasSubstr("on one line"));
  EXPECT_THAT(refused({"--http", "127.0.0.1:0", "--token-file",
                       directory.Path("none")}),
              HasSubstr("cannot open"));
  EXPECT_THAT(refused({"--http", "example.org:80"}),
              HasSubstr("not looked up"));
  EXPECT_THAT(refused({"--token-file", directory.Path("t")}),
              HasSubstr("--token-file needs --http"));
}

}  // namespace
}  // namespace sandglass::client
