#include "tests/e2e/agent/agent_fixture.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/shell.h"

namespace sandglass::testing {
namespace {

using Json = nlohmann::json;

std::string Data(const Json& event) {
  return absl::StrCat("data: ", event.dump(), "\n\n");
}

std::string Named(const char* type, Json event) {
  event["type"] = type;
  return absl::StrCat("event: ", type, "\n", Data(event));
}

Json Delta(Json delta) {
  return {{"choices", {{{"index", 0}, {"delta", std::move(delta)}}}}};
}

// The answer that consists of these items.
client::HttpReply EndResponse(client::HttpReply reply, const Json& output) {
  for (size_t i = 0; i < output.size(); ++i) {
    reply.chunks.push_back(Named("response.output_item.done",
                                 {{"output_index", i}, {"item", output[i]}}));
  }
  reply.chunks.push_back(
      Named("response.completed",
            {{"response",
              {{"status", "completed"},
               {"output", output},
               {"usage", {{"input_tokens", 10}, {"output_tokens", 5}}}}}}));
  return reply;
}

}  // namespace

client::HttpReply ChatTurn(const std::string& text,
                           const std::vector<ScriptedCall>& calls) {
  client::HttpReply reply;
  if (!text.empty()) reply.chunks.push_back(Data(Delta({{"content", text}})));
  for (size_t i = 0; i < calls.size(); ++i) {
    // Every call with the same id, as some servers have it.
    reply.chunks.push_back(Data(Delta(
        {{"tool_calls",
          {{{"index", i},
            {"id", "call"},
            {"function", {{"name", calls[i].name}, {"arguments", ""}}}}}}})));
    reply.chunks.push_back(Data(Delta(
        {{"tool_calls",
          {{{"index", i},
            {"function", {{"arguments", calls[i].arguments.dump()}}}}}}})));
  }
  reply.chunks.push_back(Data(
      {{"choices",
        {{{"index", 0}, {"delta", Json::object()}, {"finish_reason", "stop"}}}},
       {"usage", {{"prompt_tokens", 10}, {"completion_tokens", 5}}}}));
  reply.chunks.emplace_back("data: [DONE]\n\n");
  return reply;
}

client::HttpReply AnthropicTurn(const std::string& text,
                                const std::vector<ScriptedCall>& calls) {
  client::HttpReply reply;
  reply.chunks.push_back(Named(
      "message_start", {{"message", {{"usage", {{"input_tokens", 10}}}}}}));
  int index = 0;
  const auto block = [&](const Json& start, const Json& delta) {
    reply.chunks.push_back(Named("content_block_start",
                                 {{"index", index}, {"content_block", start}}));
    reply.chunks.push_back(
        Named("content_block_delta", {{"index", index}, {"delta", delta}}));
    reply.chunks.push_back(Named("content_block_stop", {{"index", index++}}));
  };
  if (!text.empty()) {
    block({{"type", "text"}, {"text", ""}},
          {{"type", "text_delta"}, {"text", text}});
  }
  for (const ScriptedCall& call : calls) {
    block({{"type", "tool_use"},
           {"id", absl::StrCat("toolu_", index)},
           {"name", call.name},
           {"input", Json::object()}},
          {{"type", "input_json_delta"},
           {"partial_json", call.arguments.dump()}});
  }
  reply.chunks.push_back(Named(
      "message_delta",
      {{"delta", {{"stop_reason", calls.empty() ? "end_turn" : "tool_use"}}},
       {"usage", {{"output_tokens", 5}}}}));
  reply.chunks.push_back(Named("message_stop", Json::object()));
  return reply;
}

client::HttpReply ResponsesTurn(const std::string& text,
                                const std::vector<ScriptedCall>& calls) {
  client::HttpReply reply;
  Json output = Json::array();
  if (!text.empty()) {
    reply.chunks.push_back(
        Named("response.output_text.delta", {{"delta", text}}));
    output.push_back(
        {{"type", "message"},
         {"role", "assistant"},
         {"content", {{{"type", "output_text"}, {"text", text}}}}});
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    output.push_back({{"type", "function_call"},
                      {"id", absl::StrCat("fc_", i)},
                      {"call_id", absl::StrCat("call_", i)},
                      {"name", calls[i].name},
                      {"arguments", calls[i].arguments.dump()}});
  }
  return EndResponse(std::move(reply), output);
}

client::HttpReply LocalShellTurn(const std::vector<std::string>& command) {
  return EndResponse({},
                     {{{"type", "local_shell_call"},
                       {"id", "ls_1"},
                       {"call_id", "call_ls"},
                       {"status", "completed"},
                       {"action", {{"type", "exec"}, {"command", command}}}}});
}

ScriptedCall RunPython(const std::string& code) {
  return {"run_code", {{"language", "python"}, {"code", code}}};
}

AgentTest::AgentTest() : place_(MakeTestDirectory()) {}

AgentTest::~AgentTest() {
  server_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(place_, ignored);
}

void AgentTest::Script(Replies replies, const std::string& provider) {
  provider_ = provider;
  server_ = client::ScriptedServer::Start(std::move(replies));
  ASSERT_NE(server_, nullptr);
}

void AgentTest::Serve(client::ScriptedServer::Handler handler,
                      const std::string& provider) {
  provider_ = provider;
  server_ = client::ScriptedServer::Start(std::move(handler));
  ASSERT_NE(server_, nullptr);
}

client::SubprocessOptions AgentTest::Options(
    std::vector<std::string> args) const {
  client::SubprocessOptions options;
  options.args = {"agent", "--provider", provider_, "--model", "scripted"};
  if (server_ != nullptr) {
    options.args.insert(options.args.end(), {"--base-url", server_->url()});
  }
  options.args.insert(options.args.end(), args.begin(), args.end());
  options.env = {absl::StrCat("HOME=", place_),
                 absl::StrCat("SANDGLASS_ADDRESS=", daemon().address()),
                 "OPENAI_API_KEY=sk-of-openai",
                 "ANTHROPIC_API_KEY=sk-of-anthropic",
                 "NO_PROXY=*",
                 "LANG=C.UTF-8",
                 "TERM=xterm"};
  options.directory = place_;
  return options;
}

Json AgentTest::Asked(size_t request) const {
  const std::vector<client::ScriptedRequest> all = server_->requests();
  if (request >= all.size()) return Json::object();
  return Json::parse(all[request].body, nullptr, false);
}

void AgentTest::EndSessions() {
  v1::ListSessionsResponse sessions;
  grpc::ClientContext context;
  ASSERT_THAT(client().sessions().ListSessions(&context, {}, &sessions),
              IsOk());
  for (const v1::Session& session : sessions.sessions()) {
    grpc::ClientContext of_end;
    v1::DeleteSessionRequest end;
    end.set_session_id(session.session_id());
    v1::DeleteSessionResponse ended;
    client().sessions().DeleteSession(&of_end, end, &ended);
  }
}

std::string AgentTest::LastOf(size_t request) const {
  const Json asked = Asked(request);
  if (!asked.contains("messages") || asked["messages"].empty()) return "";
  const Json& content = asked["messages"].back()["content"];
  return content.is_string() ? content.get<std::string>() : content.dump();
}

}  // namespace sandglass::testing
