#include "tests/client/mcp/mcp_fixture.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace sandglass::client {
namespace {

McpTool Tool(const std::string& name,
             std::function<ToolAnswer(const Json&, ToolContext&)> call) {
  McpTool tool;
  tool.name = name;
  tool.title = name;
  tool.description = absl::StrCat("What ", name, " does.");
  tool.input_schema = {{"type", "object"}, {"properties", Json::object()}};
  tool.call = std::move(call);
  return tool;
}

ToolAnswer Said(const std::string& text) {
  ToolAnswer answer;
  answer.text = text;
  return answer;
}

ToolAnswer Echo(const Json& arguments) {
  std::string text;
  for (int i = 0; i < arguments.value("times", 1); ++i) {
    absl::StrAppend(&text, arguments.value("text", ""));
  }
  return Said(text);
}

}  // namespace

ToolTable McpTools::Table() {
  ToolTable table;
  McpTool echo = Tool("echo", [](const Json& arguments, ToolContext&) {
    return Echo(arguments);
  });
  echo.input_schema = Json::parse(R"({"type": "object", "properties": {
      "text": {"type": "string"},
      "times": {"type": "integer", "minimum": 1}}, "required": ["text"]})");
  echo.read_only = true;
  table.tools.push_back(std::move(echo));
  table.tools.push_back(Tool("picture", [](const Json&, ToolContext&) {
    ToolAnswer answer = Said("one image");
    answer.images.push_back({"image/png", std::string("\x89PNG\0", 5)});
    return answer;
  }));
  table.tools.push_back(Tool("fail", [](const Json&, ToolContext&) {
    ToolAnswer answer = Said("it went wrong");
    answer.is_error = true;
    return answer;
  }));
  table.tools.push_back(Tool("talk", [](const Json&, ToolContext& context) {
    if (context.progress) context.progress("first\nlast\x1b[2J line\n");
    return Said("talked");
  }));
  McpTool hang = Tool("hang", [this](const Json&, ToolContext& context) {
    ++hanging;
    Soon([&] { return context.cancel.cancelled(); });
    if (context.cancel.cancelled()) ++cancelled;
    --hanging;
    return Said("ended");
  });
  hang.runs_programs = true;
  hang.destructive = true;
  table.tools.push_back(std::move(hang));
  table.has_network = [this] { return has_network.load(); };
  return table;
}

std::string Request(const std::string& id, const std::string& method,
                    const std::string& params) {
  return absl::StrCat(R"({"jsonrpc":"2.0","id":)", id, R"(,"method":")", method,
                      R"(","params":)", params, "}");
}

std::string ModernRequest(const std::string& id, const std::string& method,
                          const std::string& params) {
  Json with_meta = Json::parse(params);
  with_meta["_meta"][kVersionMeta] = kModernVersion;
  with_meta["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
      Json::object();
  return Request(id, method, with_meta.dump());
}

std::string CallOf(const std::string& tool, const std::string& arguments,
                   const std::string& progress_token) {
  const std::string meta =
      progress_token.empty()
          ? ""
          : absl::StrCat(R"(,"_meta":{"progressToken":)", progress_token, "}");
  return absl::StrCat(R"({"name":")", tool, R"(","arguments":)", arguments,
                      meta, "}");
}

}  // namespace sandglass::client
