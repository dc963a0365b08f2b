// `sandglass mcp` with a real daemon, called by the protocol's official clients
// as they are published. They come from the registries that this machine's own
// tools are configured with; where one can't be reached, its tests say so.

#include <signal.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/shell.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sandglass::testing {
namespace {

using client::Subprocess;
using client::SubprocessOptions;
using ::testing::EndsWith;

class McpClientsOfTheMachine : public DaemonTest {
 protected:
  // False when the command, run in a directory of the test's own, could not
  // fetch what it was to; `said_` has its words.
  bool Fetch(const std::string& command) {
    said_ = RunShell(absl::StrCat(
        "cd ", directory_.path(), " && export HOME=${HOME:-/root} && (timeout ",
        "240 sh -c '", command, "') 2>&1 || echo can not be reached"));
    return !said_.ends_with("can not be reached\n");
  }

  // What the command writes, run by a shell in that directory with $BINARY,
  // $URL of a server on HTTP, and the daemon's address.
  std::string RunClient(const std::string& command) {
    SubprocessOptions options;
    options.args = {"--address", daemon().address(), "mcp", "--http",
                    "127.0.0.1:0"};
    options.input_pipe = true;
    Subprocess server(options);
    EXPECT_TRUE(server.ReadErrorUntil("/mcp\n"));
    const std::string url = UrlOf(server);
    std::string said = RunShell(absl::StrCat(
        "cd ", directory_.path(), " && export BINARY=" SANDGLASS_BINARY " URL=",
        url, " SANDGLASS_ADDRESS=", daemon().address(),
        " SCRIPTS=" SANDGLASS_SOURCE_DIR "/tests/mcp HOME=${HOME:-/root} && (",
        "timeout 120 ", command, ") 2>&1"));
    server.Signal(SIGTERM);
    EXPECT_EQ(server.Wait().exit_code, 0);
    return said;
  }

  std::string said_;

 private:
  static std::string UrlOf(const Subprocess& server) {
    const std::string& words = server.error_text();
    return words.substr(words.find("http://"),
                        words.find('\n') - words.find("http://"));
  }

  const TempDir directory_;
};

#define FETCH_OR_SKIP(command)                                               \
  if (!Fetch(command)) {                                                     \
    GTEST_SKIP() << "what this machine has as a registry does not give it: " \
                 << said_;                                                   \
  }

TEST_F(McpClientsOfTheMachine, ThePythonClientWithAHandshakeWorks) {
  FETCH_OR_SKIP("/usr/bin/python3 -m pip install -q --target py \"mcp<2\"");
  EXPECT_THAT(RunClient("env PYTHONPATH=py /usr/bin/python3 "
                        "$SCRIPTS/python_client.py $BINARY $URL"),
              EndsWith("ok\n"));
}

TEST_F(McpClientsOfTheMachine, ThePythonClientWithoutAHandshakeWorks) {
  FETCH_OR_SKIP("/usr/bin/python3 -m pip install -q --target py \"mcp>=2\"");
  EXPECT_THAT(RunClient("env PYTHONPATH=py /usr/bin/python3 "
                        "$SCRIPTS/python_client.py $BINARY $URL"),
              EndsWith("ok\n"));
}

TEST_F(McpClientsOfTheMachine, TheNodeClientWithAHandshakeWorks) {
  FETCH_OR_SKIP("npm install --no-audit --no-fund @modelcontextprotocol/sdk");
  EXPECT_THAT(RunClient("node $SCRIPTS/node_client.mjs sdk $BINARY $URL"),
              EndsWith("ok\n"));
}

TEST_F(McpClientsOfTheMachine, TheNodeClientWithoutAHandshakeWorks) {
  FETCH_OR_SKIP(
      "npm install --no-audit --no-fund @modelcontextprotocol/client");
  EXPECT_THAT(RunClient("node $SCRIPTS/node_client.mjs client $BINARY $URL"),
              EndsWith("ok\n"));
}

TEST_F(McpClientsOfTheMachine, TheInspectorWorks) {
  FETCH_OR_SKIP(
      "npm install --no-audit --no-fund @modelcontextprotocol/inspector");
  EXPECT_THAT(RunClient("bash $SCRIPTS/inspector.sh $BINARY $URL"),
              EndsWith("ok\n"));
}

// The other side of the agent, by somebody else's idea of it.
TEST_F(McpClientsOfTheMachine, TheAgentTalksWithAModelThatOthersMock) {
  FETCH_OR_SKIP("npm install --silent @copilotkit/aimock");
  EXPECT_THAT(RunClient("sh $SCRIPTS/mock_model.sh"), EndsWith("ok\n"));
}

}  // namespace
}  // namespace sandglass::testing
