#include "client/mcp/daemon_tools.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/mcp/network_hint.h"
#include "client/mcp/sandbox_tools.h"
#include "client/mcp/tool_arguments.h"

namespace sandglass::client {
namespace {

constexpr char kLanguageHelp[] =
    "Id or alias of a language, such as python, javascript, bash, cpp; "
    "list_languages has them all";

Json TimeoutSchema() {
  return {{"type", "number"},
          {"minimum", 0.1},
          {"description", absl::StrCat("Seconds that it may run, ",
                                       absl::ToInt64Seconds(kDefaultCallTime),
                                       " if not given, at most ",
                                       absl::ToInt64Seconds(kMaxCallTime),
                                       "; for longer work use start_command")}};
}

McpTool RunCode(DaemonLink& link, const std::string& profile) {
  McpTool tool;
  tool.name = "run_code";
  tool.title = "Run code";
  tool.description =
      "Runs a program and returns its exit, output and images: those that it "
      "shows in python, and those that it saves in /workspace, in python also "
      "in /tmp. Without sandbox_id it runs in a fresh sandbox that is gone "
      "afterwards; nothing else needs to be called first. With sandbox_id it "
      "runs there: files stay, and of python, javascript and the like "
      "variables too; of images it returns those that it shows, and read_file "
      "returns others. The value of a last expression is returned in python, "
      "and with sandbox_id in javascript and the like too.";
  tool.input_schema = ObjectSchema(
      {{"language", StringSchema(kLanguageHelp)},
       {"code", StringSchema("The program's text")},
       {"libraries",
        StringsSchema("Libraries to install first, as the language's tool "
                      "names them: six==1.16.0, lodash@^4. Not with "
                      "sandbox_id: give them to create_sandbox")},
       {"timeout", TimeoutSchema()},
       {"sandbox_id", StringSchema(kSandboxHelp)},
       {"approval_id",
        StringSchema("When the answer to an earlier try said that a person "
                     "must approve, and that was done: the id that it gave")}},
      {"language", "code"});
  tool.destructive = true;
  tool.runs_programs = true;
  tool.call = [&link, profile](const Json& arguments, ToolContext& context) {
    CodeCall call;
    call.language = Text(arguments, "language");
    call.code = Text(arguments, "code");
    call.sandbox_id = Text(arguments, "sandbox_id");
    call.libraries = Texts(arguments, "libraries");
    call.approval_id = Text(arguments, "approval_id");
    if (call.sandbox_id.empty()) call.profile = profile;
    if (!call.sandbox_id.empty() && !call.libraries.empty()) {
      return Refused(
          "run_code: libraries can't be added to a sandbox that is there; make "
          "one that has them: create_sandbox with language and libraries");
    }
    return CallWithin(
        link, arguments, call.timeout, [&](const Toolbox& toolbox) {
          return toolbox.RunCode(call, context.cancel, context.progress);
        });
  };
  return tool;
}

// The schema with the arguments that all commands have.
Json CommandSchema(Json timeout) {
  return ObjectSchema(
      {{"sandbox_id", StringSchema(kSandboxHelp)},
       {"command", StringSchema("For /bin/sh -c")},
       {"directory", StringSchema("Where to run it, /workspace if not given")},
       {"timeout", std::move(timeout)}},
      {"sandbox_id", "command"});
}

CommandCall CommandOf(const Json& arguments) {
  CommandCall call;
  call.sandbox_id = Text(arguments, "sandbox_id");
  call.command = Text(arguments, "command");
  call.directory = Text(arguments, "directory");
  return call;
}

McpTool RunCommand(DaemonLink& link) {
  McpTool tool;
  tool.name = "run_command";
  tool.title = "Run a command";
  tool.description =
      "Runs a shell command in a sandbox, waits for its end and returns its "
      "exit and output. For one that takes longer than a minute, or a server, "
      "use start_command; for a single command without a sandbox, run_code "
      "with language bash.";
  tool.input_schema = CommandSchema(TimeoutSchema());
  tool.destructive = true;
  tool.runs_programs = true;
  tool.call = [&link](const Json& arguments, ToolContext& context) {
    CommandCall call = CommandOf(arguments);
    return CallWithin(
        link, arguments, call.timeout, [&](const Toolbox& toolbox) {
          return toolbox.RunCommand(call, context.cancel, context.progress);
        });
  };
  return tool;
}

McpTool StartCommand(DaemonLink& link) {
  McpTool tool;
  tool.name = "start_command";
  tool.title = "Start a command";
  tool.description =
      "Starts a shell command in a sandbox and returns at once with a "
      "command_id, for read_output and stop_command. It runs on between calls, "
      "until it ends, its timeout, stop_command, or the sandbox's end.";
  tool.input_schema = CommandSchema(
      {{"type", "number"},
       {"minimum", 0.1},
       {"maximum", 2'592'000},
       {"description",
        "Seconds that it may run; if not given, as long as the sandbox"}});
  tool.destructive = true;
  tool.runs_programs = true;
  tool.call = [&link](const Json& arguments, ToolContext& context) {
    CommandCall call = CommandOf(arguments);
    call.timeout = Seconds(arguments, "timeout", absl::ZeroDuration());
    return CallToolbox(link, [&](const Toolbox& toolbox) {
      return toolbox.StartCommand(call, context.cancel);
    });
  };
  return tool;
}

McpTool ReadOutput(DaemonLink& link) {
  McpTool tool;
  tool.name = "read_output";
  tool.title = "Read a command's output";
  tool.description =
      "What a command of start_command printed, and whether it has ended. "
      "Waits some seconds for more, or for its end. Call it again with the "
      "place where the answer says to go on.";
  tool.input_schema = ObjectSchema(
      {{"sandbox_id", StringSchema(kSandboxHelp)},
       {"command_id", StringSchema("As start_command gave it")},
       {"from",
        {{"type", "integer"},
         {"minimum", 0},
         {"description", "Where to begin, in bytes; 0 if not given"}}},
       {"wait",
        {{"type", "number"},
         {"minimum", 0},
         {"maximum", absl::ToInt64Seconds(kMaxCallTime)},
         {"description", "Seconds to wait for more, 5 if not given"}}}},
      {"sandbox_id", "command_id"});
  tool.read_only = true;
  tool.call = [&link](const Json& arguments, ToolContext& context) {
    return CallToolbox(link, [&](const Toolbox& toolbox) {
      return toolbox.ReadOutput(
          Text(arguments, "sandbox_id"), Text(arguments, "command_id"),
          Count(arguments, "from"),
          Seconds(arguments, "wait", absl::Seconds(5)), context.cancel);
    });
  };
  return tool;
}

McpTool StopCommand(DaemonLink& link) {
  McpTool tool;
  tool.name = "stop_command";
  tool.title = "Stop a command";
  tool.description =
      "Ends a command of start_command with all that it has started.";
  tool.input_schema =
      ObjectSchema({{"sandbox_id", StringSchema(kSandboxHelp)},
                    {"command_id", StringSchema("As start_command gave it")}},
                   {"sandbox_id", "command_id"});
  tool.destructive = true;
  tool.call = [&link](const Json& arguments, ToolContext& context) {
    return CallToolbox(link, [&](const Toolbox& toolbox) {
      return toolbox.StopCommand(Text(arguments, "sandbox_id"),
                                 Text(arguments, "command_id"), context.cancel);
    });
  };
  return tool;
}

McpTool ListLanguages(DaemonLink& link) {
  McpTool tool;
  tool.name = "list_languages";
  tool.title = "List languages";
  tool.description =
      "The languages that can be run, with their versions, and what the "
      "sandboxes allow: limits, network, libraries.";
  tool.input_schema = ObjectSchema(Json::object(), {});
  tool.read_only = true;
  tool.call = [&link](const Json&, ToolContext& context) {
    return CallToolbox(link, [&](const Toolbox& toolbox) {
      return toolbox.ListLanguages(context.cancel);
    });
  };
  return tool;
}

}  // namespace

ToolTable DaemonTools(DaemonLink& link, const std::string& profile) {
  ToolTable table;
  table.tools = {RunCode(link, profile), RunCommand(link), StartCommand(link),
                 ReadOutput(link), StopCommand(link)};
  for (McpTool& tool : SandboxTools(link, profile)) {
    table.tools.push_back(std::move(tool));
  }
  table.tools.push_back(ListLanguages(link));
  const auto hint = std::make_shared<NetworkHint>(link, profile);
  table.has_network = [hint] { return hint->MayReachOutside(); };
  return table;
}

}  // namespace sandglass::client
