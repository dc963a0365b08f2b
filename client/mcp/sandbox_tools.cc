#include "client/mcp/sandbox_tools.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/base/units.h"
#include "client/mcp/tool_arguments.h"
#include "sandglass/v1/session_service.grpc.pb.h"

namespace sandglass::client {
namespace {

// When the sandbox will end, as the daemon has it; empty when it doesn't say.
std::string Lifetime(const Daemon& daemon, const std::string& id,
                     CallCancel& cancel) {
  grpc::ClientContext context;
  SetQuickDeadline(context);
  const CallCancel::Scope scope(cancel, context);
  v1::GetSessionRequest request;
  request.set_session_id(id);
  v1::GetSessionResponse response;
  if (!daemon.sessions->GetSession(&context, request, &response).ok()) {
    return "";
  }
  return absl::StrCat(
      "It ends when nobody uses it for ",
      FormatLongTime(FromProto(response.session().idle_timeout())),
      ", at the latest after ",
      FormatLongTime(FromProto(response.session().max_age())),
      ", or by delete_sandbox.");
}

// Nobody may be there any more to delete what a model has made.
constexpr absl::Duration kIdleTimeout = absl::Minutes(15);

ToolAnswer Create(DaemonLink& link, SandboxOptions options,
                  ToolContext& context) {
  const absl::StatusOr<std::shared_ptr<const DaemonLink::Connection>>
      connection = link.Get();
  if (!connection.ok()) {
    return Refused(absl::StrCat("The daemon that runs code can't be reached: ",
                                connection.status().message()));
  }
  absl::StatusOr<std::string> id =
      (*connection)->toolbox.CreateSandbox(options, context.cancel);
  if (absl::IsInvalidArgument(id.status()) &&
      options.idle_timeout == kIdleTimeout) {
    // The operator's longest time may be shorter, and is what is had then.
    options.idle_timeout = absl::ZeroDuration();
    id = (*connection)->toolbox.CreateSandbox(options, context.cancel);
  }
  if (!id.ok()) return Refused(std::string(id.status().message()));
  ToolAnswer answer;
  answer.text =
      absl::StrCat("sandbox_id: ", *id, "\nIts files are in /workspace. ",
                   Lifetime((*connection)->daemon, *id, context.cancel));
  return answer;
}

McpTool CreateSandbox(DaemonLink& link, const std::string& profile) {
  McpTool tool;
  tool.name = "create_sandbox";
  tool.title = "Create a sandbox";
  tool.description =
      "Makes a sandbox that keeps files and variables between calls, and "
      "returns its sandbox_id for the other tools. It lives until "
      "delete_sandbox, or until it was not used for a while (idle_timeout); "
      "the "
      "answer says the time. Where there are as many sandboxes as there may "
      "be, another takes the place of the one that was longest not used. After "
      "that a call with its sandbox_id fails, and all that was in it is gone. "
      "Not needed for a single run_code.";
  tool.input_schema = ObjectSchema(
      {{"language",
        StringSchema("The language that it is made ready for, and that its "
                     "libraries are of, such as python. Any other can be run "
                     "there, too, with variables of its own")},
       {"libraries",
        StringsSchema("Libraries of that language to install first, as its "
                      "tool names them: six==1.16.0, lodash@^4")},
       {"idle_timeout",
        {{"type", "number"},
         {"minimum", 1},
         {"maximum", 2'592'000},
         {"description",
          absl::StrCat("Seconds without use after which it ends, ",
                       absl::ToInt64Seconds(kIdleTimeout),
                       " if not given; at most what the operator allows")}}}},
      {});
  tool.runs_programs = true;
  tool.call = [&link, profile](const Json& arguments, ToolContext& context) {
    SandboxOptions options;
    options.language = Text(arguments, "language");
    options.libraries = Texts(arguments, "libraries");
    options.profile = profile;
    options.idle_timeout = Seconds(arguments, "idle_timeout", kIdleTimeout);
    options.evictable = true;
    // Shows operators who made it.
    options.labels = {{"made-by", "sandglass-mcp"}};
    if (!options.libraries.empty() && options.language.empty()) {
      return Refused(
          "create_sandbox: libraries need a language; give that too");
    }
    return Create(link, options, context);
  };
  return tool;
}

McpTool DeleteSandbox(DaemonLink& link) {
  McpTool tool;
  tool.name = "delete_sandbox";
  tool.title = "Delete a sandbox";
  tool.description = "Ends a sandbox with all that runs in it, and its files.";
  tool.input_schema = ObjectSchema({{"sandbox_id", StringSchema(kSandboxHelp)}},
                                   {"sandbox_id"});
  tool.destructive = true;
  tool.call = [&link](const Json& arguments, ToolContext& context) {
    return CallToolbox(link, [&](const Toolbox& toolbox) {
      return toolbox.DeleteSandbox(Text(arguments, "sandbox_id"),
                                   context.cancel);
    });
  };
  return tool;
}

McpTool ReadFile(DaemonLink& link) {
  McpTool tool;
  tool.name = "read_file";
  tool.title = "Read a file";
  tool.description =
      "Reads a file of a sandbox: text by lines, images as images; of other "
      "files it tells kind and size.";
  tool.input_schema = ObjectSchema(
      {{"sandbox_id", StringSchema(kSandboxHelp)},
       {"path", StringSchema("Absolute, or below /workspace")},
       {"first_line",
        {{"type", "integer"},
         {"minimum", 1},
         {"description", "Where to begin, 1 if not given"}}},
       {"lines",
        {{"type", "integer"},
         {"minimum", 1},
         {"description", "How many; if not given, as many as fit"}}}},
      {"sandbox_id", "path"});
  tool.read_only = true;
  tool.call = [&link](const Json& arguments, ToolContext& context) {
    return CallToolbox(link, [&](const Toolbox& toolbox) {
      const uint64_t first = Count(arguments, "first_line");
      return toolbox.ReadFile(Text(arguments, "sandbox_id"),
                              Text(arguments, "path"), first == 0 ? 1 : first,
                              Count(arguments, "lines"), context.cancel);
    });
  };
  return tool;
}

McpTool WriteFile(DaemonLink& link) {
  McpTool tool;
  tool.name = "write_file";
  tool.title = "Write a file";
  tool.description =
      "Writes a text file in a sandbox, over one that is there; makes the "
      "directories on the way.";
  Json content = StringSchema("All that the file is to have");
  content.erase("minLength");
  tool.input_schema =
      ObjectSchema({{"sandbox_id", StringSchema(kSandboxHelp)},
                    {"path", StringSchema("Absolute, or below /workspace")},
                    {"content", std::move(content)}},
                   {"sandbox_id", "path", "content"});
  tool.destructive = true;
  tool.call = [&link](const Json& arguments, ToolContext& context) {
    return CallToolbox(link, [&](const Toolbox& toolbox) {
      return toolbox.WriteFile(Text(arguments, "sandbox_id"),
                               Text(arguments, "path"),
                               Text(arguments, "content"), context.cancel);
    });
  };
  return tool;
}

McpTool ListFiles(DaemonLink& link) {
  McpTool tool;
  tool.name = "list_files";
  tool.title = "List files";
  tool.description = "What is in a directory of a sandbox.";
  tool.input_schema = ObjectSchema(
      {{"sandbox_id", StringSchema(kSandboxHelp)},
       {"path", StringSchema("The directory, /workspace if not given")}},
      {"sandbox_id"});
  tool.read_only = true;
  tool.call = [&link](const Json& arguments, ToolContext& context) {
    return CallToolbox(link, [&](const Toolbox& toolbox) {
      const std::string path = Text(arguments, "path");
      return toolbox.ListFiles(Text(arguments, "sandbox_id"),
                               path.empty() ? "/workspace" : path,
                               context.cancel);
    });
  };
  return tool;
}

}  // namespace

std::vector<McpTool> SandboxTools(DaemonLink& link,
                                  const std::string& profile) {
  return {CreateSandbox(link, profile), DeleteSandbox(link), ReadFile(link),
          WriteFile(link), ListFiles(link)};
}

}  // namespace sandglass::client
