#include "client/agent/tool_definitions.h"

#include <utility>

namespace sandglass::client {
namespace {

using Json = nlohmann::json;

Json Described(const char* type, const char* description) {
  return {{"type", type}, {"description", description}};
}

LlmTool Tool(const char* name, const char* description, Json properties,
             Json required) {
  return {.name = name,
          .description = description,
          .parameters = {{"type", "object"},
                         {"properties", std::move(properties)},
                         {"required", std::move(required)},
                         {"additionalProperties", false}}};
}

LlmTool RunCode() {
  return Tool(
      "run_code",
      "Runs a program in the sandbox and returns its verdict, output, the "
      "value of the last expression and errors. Variables, imports and files "
      "stay for the next call in the same language. Languages: python, "
      "javascript, bash, ruby, java (with state); cpp, go, perl (whole "
      "programs). There is no network unless the operator allowed some.",
      {{"language", Described("string", "For example python")},
       {"code", Described("string", "The whole text of the program")},
       {"timeout_seconds", Described("integer",
                                     "Stops it after so long; at most what the "
                                     "operator allows")}},
      {"language", "code"});
}

LlmTool Execute() {
  return Tool(
      "execute",
      "Runs a shell command in the sandbox, in /workspace, and returns "
      "its verdict and output. It begins anew each time: no variables "
      "and no directory stay, files do. What it leaves running ends with it; "
      "start_command is for servers and for what takes long.",
      {{"command", Described("string", "For /bin/sh -c")},
       {"timeout_seconds",
        Described("integer",
                  "Ends it after so long; at most what the operator allows")}},
      {"command"});
}

void AddCommandTools(std::vector<LlmTool>& tools) {
  tools.push_back(
      Tool("start_command",
           "Starts a shell command in the sandbox, in /workspace, and returns "
           "at once with its command_id, for read_output and stop_command. It "
           "runs on between calls, for example a server.",
           {{"command", Described("string", "For /bin/sh -c")}}, {"command"}));
  tools.push_back(Tool(
      "read_output",
      "Shows what a command of start_command has printed, and whether it has "
      "ended. Waits some seconds for more, or for its end.",
      {{"command_id", Described("string", "As start_command gave it")},
       {"from", Described("integer",
                          "Where the answer before said that it goes on; 0 if "
                          "absent")},
       {"wait_seconds", Described("integer", "5 if absent")}},
      {"command_id"}));
  tools.push_back(
      Tool("stop_command",
           "Ends a command of start_command, with all that it has started.",
           {{"command_id", Described("string", "As start_command gave it")}},
           {"command_id"}));
}

void AddFileTools(std::vector<LlmTool>& tools) {
  tools.push_back(Tool(
      "read_file", "Shows a file of the sandbox, text by lines or an image.",
      {{"path", Described("string", "Absolute, or below /workspace")},
       {"first_line", Described("integer", "From 1 on")},
       {"lines", Described("integer",
                           "How many; as many as there is room for "
                           "if absent")}},
      {"path"}));
  tools.push_back(
      Tool("write_file",
           "Writes a file in the sandbox, in place of one that is there, with "
           "the directories on the way.",
           {{"path", Described("string", "Absolute, or below /workspace")},
            {"content", Described("string", "All of its text")}},
           {"path", "content"}));
  tools.push_back(Tool(
      "edit_file",
      "Replaces text in a file of the sandbox. The old text has to be there "
      "exactly once, unless all are to be replaced.",
      {{"path", Described("string", "Absolute, or below /workspace")},
       {"old_text", Described("string", "What is there now, to the letter")},
       {"new_text", Described("string", "What is to be there")},
       {"replace_all", Described("boolean", "All places")}},
      {"path", "old_text", "new_text"}));
}

LlmTool ListFiles() {
  return Tool("list_files", "Lists a directory of the sandbox.",
              {{"path", Described("string", "/workspace if absent")}},
              Json::array());
}

LlmTool Native(const char* name, Json form) {
  LlmTool tool;
  tool.name = name;
  tool.native = std::move(form);
  return tool;
}

void AddSandboxName(LlmTool& tool) {
  if (!tool.native.is_null()) return;
  tool.parameters["properties"]["sandbox"] = Described(
      "string",
      "Which sandbox, by a name of your choice; \"main\" if absent. Another "
      "name makes another one, with files and state of its own. Calls for "
      "different sandboxes run at the same time.");
}

}  // namespace

std::vector<LlmTool> ToolDefinitions(const ToolChoice& choice) {
  const bool anthropic =
      choice.native && choice.provider == LlmProvider::kAnthropic;
  const bool shell =
      choice.native && choice.provider == LlmProvider::kOpenAiResponses;
  std::vector<LlmTool> tools = {RunCode()};
  if (anthropic) {
    tools.push_back(
        Native("bash", {{"type", "bash_20250124"}, {"name", "bash"}}));
    tools.push_back(Native("str_replace_based_edit_tool",
                           {{"type", "text_editor_20250728"},
                            {"name", "str_replace_based_edit_tool"}}));
  } else {
    tools.push_back(shell ? Native("local_shell", {{"type", "local_shell"}})
                          : Execute());
    AddFileTools(tools);
  }
  AddCommandTools(tools);
  tools.push_back(ListFiles());
  if (choice.skills) {
    tools.push_back(
        Tool("load_skill",
             "Shows a skill's instructions and puts its files into the "
             "sandbox. Load one before you do what it is for.",
             {{"name", Described("string", "As the list of skills has it")}},
             {"name"}));
  }
  if (choice.several_sandboxes) {
    for (LlmTool& tool : tools) AddSandboxName(tool);
  }
  return tools;
}

}  // namespace sandglass::client
