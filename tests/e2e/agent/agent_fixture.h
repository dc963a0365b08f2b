#ifndef SANDGLASS_TESTS_E2E_AGENT_AGENT_FIXTURE_H_
#define SANDGLASS_TESTS_E2E_AGENT_AGENT_FIXTURE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/scripted_server.h"
#include "tests/support/subprocess.h"

namespace sandglass::testing {

// One turn of a model, as its provider streams it.
struct ScriptedCall {
  std::string name;
  nlohmann::json arguments;
};
client::HttpReply ChatTurn(const std::string& text,
                           const std::vector<ScriptedCall>& calls = {});
client::HttpReply AnthropicTurn(const std::string& text,
                                const std::vector<ScriptedCall>& calls = {});
client::HttpReply ResponsesTurn(const std::string& text,
                                const std::vector<ScriptedCall>& calls = {});
// A call of the provider's own shell.
client::HttpReply LocalShellTurn(const std::vector<std::string>& command);
ScriptedCall RunPython(const std::string& code);

// `sandglass agent`, the binary, between a scripted model and a real daemon.
class AgentTest : public DaemonTest {
 protected:
  AgentTest();
  ~AgentTest() override;

  using Replies = std::vector<client::HttpReply>;
  // The model's turns one after another, for a provider's name.
  void Script(Replies replies, const std::string& provider = "openai");
  // For a server of the test's own.
  void Serve(client::ScriptedServer::Handler handler,
             const std::string& provider = "openai");
  client::SubprocessOptions Options(std::vector<std::string> args) const;
  client::SubprocessResult Agent(std::vector<std::string> args) const {
    return client::RunProcess(Options(std::move(args)));
  }
  // The body of a request that the model got.
  nlohmann::json Asked(size_t request) const;
  // Ends the sessions that threads leave behind.
  void EndSessions();
  // The text of the last message of a request, as Chat Completions has it.
  std::string LastOf(size_t request) const;

  std::string place_;
  std::string provider_ = "openai";
  std::unique_ptr<client::ScriptedServer> server_;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_E2E_AGENT_AGENT_FIXTURE_H_
