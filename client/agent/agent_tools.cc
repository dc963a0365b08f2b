#include "client/agent/agent_tools.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/agent/tool_definitions.h"

namespace sandglass::client {
namespace {

constexpr uint64_t kReadWait = 5;  // seconds for more output

ToolAnswer Mistake(std::string text) {
  ToolAnswer answer;
  answer.text = std::move(text);
  answer.is_error = true;
  return answer;
}

absl::Duration Seconds(uint64_t seconds) {
  return absl::Seconds(static_cast<int64_t>(seconds));
}

// Quotes a word of a command line so that /bin/sh reads the same word.
std::string Quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string LostWords(const std::string& text) {
  return absl::StrCat(
      text,
      "\nThis sandbox has ended, with its files and all state. A new, empty "
      "one takes its place at the next call; make again what you still need.");
}

}  // namespace

AgentTools::AgentTools(const Toolbox& toolbox, Sandboxes& sandboxes,
                       const Skills* skills, AgentToolOptions options,
                       AskApproval ask)
    : toolbox_(toolbox),
      sandboxes_(sandboxes),
      skills_(skills),
      options_(options),
      ask_(std::move(ask)) {}

std::vector<LlmTool> AgentTools::Definitions() const {
  return ToolDefinitions({.provider = options_.provider,
                          .native = options_.native,
                          .several_sandboxes = options_.sandboxes > 1,
                          .skills = skills_ != nullptr});
}

bool AgentTools::Has(const std::string& tool) const {
  const std::vector<LlmTool> all = Definitions();
  return std::any_of(all.begin(), all.end(),
                     [&](const LlmTool& each) { return each.name == tool; });
}

std::string AgentTools::SandboxOf(const LlmToolCall& call) const {
  CallArguments arguments(call.name, call.arguments, call.cut);
  std::string name = arguments.OptionalText("sandbox", kMainSandbox);
  return options_.sandboxes > 1 && !name.empty() ? name : kMainSandbox;
}

ToolAnswer AgentTools::Call(const LlmToolCall& call, CallCancel& cancel,
                            const ToolProgress& progress) {
  CallArguments arguments(call.name, call.arguments, call.cut);
  if (!Has(call.name)) {
    std::vector<std::string> names;
    for (const LlmTool& tool : Definitions()) names.push_back(tool.name);
    return Mistake(absl::StrCat("There is no tool \"", call.name.substr(0, 100),
                                "\". There are: ", absl::StrJoin(names, ", "),
                                "."));
  }
  if (!arguments.problem().empty()) return Mistake(arguments.problem());
  const std::string name = SandboxOf(call);
  const std::map<std::string, std::string> open = sandboxes_.All();
  if (open.count(name) == 0 && open.size() >= options_.sandboxes) {
    std::vector<std::string> names;
    names.reserve(open.size());
    for (const auto& [each, session] : open) names.push_back(each);
    return Mistake(absl::StrCat("There may be ", options_.sandboxes,
                                " sandboxes, and there are already: ",
                                absl::StrJoin(names, ", "), ". Use one."));
  }
  const absl::StatusOr<std::string> session = sandboxes_.Get(name, cancel);
  if (!session.ok()) {
    return Mistake(absl::StrCat("There is no sandbox for it: ",
                                session.status().message()));
  }
  ToolAnswer answer = InSandbox(call, arguments, *session, cancel, progress);
  if (!arguments.problem().empty()) return Mistake(arguments.problem());
  if (answer.sandbox_gone) {
    sandboxes_.Lost(name, *session);
    answer.text = LostWords(answer.text);
  }
  return answer;
}

ToolAnswer AgentTools::InSandbox(const LlmToolCall& call,
                                 CallArguments& arguments,
                                 const std::string& session_id,
                                 CallCancel& cancel,
                                 const ToolProgress& progress) {
  // Nothing is called if an argument is wrong.
  const auto unless_wrong = [&](const auto& carry_out) {
    return arguments.problem().empty() ? carry_out() : ToolAnswer();
  };
  if (call.name == "run_code") {
    CodeCall code;
    code.sandbox_id = session_id;
    code.language = arguments.Text("language");
    code.code = arguments.Text("code");
    code.timeout = Seconds(arguments.OptionalNumber("timeout_seconds", 0));
    return unless_wrong([&] { return RunCode(code, cancel, progress); });
  }
  if (call.name == "execute") {
    CommandCall command;
    command.sandbox_id = session_id;
    command.command = arguments.Text("command");
    command.timeout = Seconds(arguments.OptionalNumber("timeout_seconds", 0));
    return unless_wrong(
        [&] { return toolbox_.RunCommand(command, cancel, progress); });
  }
  if (call.name == "start_command" || call.name == "read_output" ||
      call.name == "stop_command") {
    return LongCommand(call.name, arguments, session_id, cancel);
  }
  if (call.name == "read_file") {
    const std::string path = arguments.Text("path");
    const uint64_t first = arguments.OptionalNumber("first_line", 1);
    const uint64_t lines = arguments.OptionalNumber("lines", 0);
    return unless_wrong([&] {
      return toolbox_.ReadFile(session_id, path, std::max<uint64_t>(first, 1),
                               lines, cancel);
    });
  }
  if (call.name == "write_file") {
    const std::string path = arguments.Text("path");
    const std::string content = arguments.Text("content");
    return unless_wrong(
        [&] { return toolbox_.WriteFile(session_id, path, content, cancel); });
  }
  if (call.name == "edit_file") {
    const std::string path = arguments.Text("path");
    const std::string from = arguments.Text("old_text");
    const std::string to = arguments.Text("new_text");
    const bool all = arguments.OptionalFlag("replace_all");
    return unless_wrong([&] {
      return toolbox_.EditFile(session_id, path, from, to, all, cancel);
    });
  }
  if (call.name == "list_files") {
    const std::string path = arguments.OptionalText("path", "/workspace");
    return unless_wrong(
        [&] { return toolbox_.ListFiles(session_id, path, cancel); });
  }
  if (call.name == "load_skill") {
    return LoadSkill(arguments, session_id, cancel);
  }
  if (call.name == "bash") {
    return NativeBash(arguments, session_id, cancel, progress);
  }
  if (call.name == "local_shell") {
    return NativeShell(arguments, session_id, cancel, progress);
  }
  return NativeEditor(arguments, session_id, cancel);
}

ToolAnswer AgentTools::RunCode(CodeCall call, CallCancel& cancel,
                               const ToolProgress& progress) {
  ToolAnswer answer = toolbox_.RunCode(call, cancel, progress);
  if (answer.approval_id.empty()) return answer;
  bool granted = false;
  {
    const absl::MutexLock one(&asking_);
    granted = ask_ && ask_(answer.approval_id);
  }
  if (!granted) {
    absl::StrAppend(&answer.text,
                    "\nIt was not approved and did not run. Do without it, or "
                    "ask the user how to go on.");
    answer.approval_id.clear();
    return answer;
  }
  call.approval_id = answer.approval_id;
  return toolbox_.RunCode(call, cancel, progress);
}

ToolAnswer AgentTools::LongCommand(const std::string& tool,
                                   CallArguments& arguments,
                                   const std::string& session_id,
                                   CallCancel& cancel) {
  if (tool == "start_command") {
    CommandCall command;
    command.sandbox_id = session_id;
    command.command = arguments.Text("command");
    if (!arguments.problem().empty()) return {};
    return toolbox_.StartCommand(command, cancel);
  }
  const std::string id = arguments.Text("command_id");
  if (tool == "stop_command") {
    if (!arguments.problem().empty()) return {};
    return toolbox_.StopCommand(session_id, id, cancel);
  }
  const uint64_t from = arguments.OptionalNumber("from", 0);
  const uint64_t wait = arguments.OptionalNumber("wait_seconds", kReadWait);
  if (!arguments.problem().empty()) return {};
  return toolbox_.ReadOutput(session_id, id, from, Seconds(wait), cancel);
}

ToolAnswer AgentTools::LoadSkill(CallArguments& arguments,
                                 const std::string& session_id,
                                 CallCancel& cancel) {
  const std::string name = arguments.Text("name");
  if (!arguments.problem().empty()) return {};
  const Skill* skill = skills_->Find(name);
  if (skill == nullptr) {
    return Mistake(absl::StrCat("There is no such skill. There are:\n",
                                skills_->Listing()));
  }
  const absl::StatusOr<std::vector<LocalFile>> files = Skills::FilesOf(*skill);
  if (!files.ok()) return Mistake(std::string(files.status().message()));
  if (absl::Status put = sandboxes_.Upload(session_id, *files, cancel);
      !put.ok()) {
    return Mistake(std::string(put.message()));
  }
  ToolAnswer answer;
  answer.text =
      absl::StrCat("Its files are in ", kSkillsInSandbox, "/", skill->name,
                   " (", files->size(), " of them).\n\n", skill->text);
  return answer;
}

ToolAnswer AgentTools::NativeBash(CallArguments& arguments,
                                  const std::string& session_id,
                                  CallCancel& cancel,
                                  const ToolProgress& progress) {
  // Its shell keeps directory and variables; a new shell has neither.
  const bool restart = arguments.OptionalFlag("restart");
  const std::string command = restart ? "" : arguments.Text("command");
  if (!arguments.problem().empty()) return {};
  if (restart) return toolbox_.RestartKernel(session_id, "bash", cancel);
  CodeCall code;
  code.sandbox_id = session_id;
  code.language = "bash";
  code.code = command;
  return RunCode(code, cancel, progress);
}

ToolAnswer AgentTools::NativeShell(CallArguments& arguments,
                                   const std::string& session_id,
                                   CallCancel& cancel,
                                   const ToolProgress& progress) {
  std::vector<std::string> words = arguments.OptionalTexts("command");
  CommandCall command;
  command.sandbox_id = session_id;
  command.directory = arguments.OptionalText("working_directory");
  // These models ask for minutes, whatever is allowed; the profile's limit
  // applies.
  if (!arguments.problem().empty()) return {};
  if (words.empty()) return Mistake("The command is empty; nothing was run.");
  for (std::string& word : words) word = Quoted(word);
  command.command = absl::StrJoin(words, " ");
  return toolbox_.RunCommand(command, cancel, progress);
}

ToolAnswer AgentTools::NativeEditor(CallArguments& arguments,
                                    const std::string& session_id,
                                    CallCancel& cancel) {
  const std::string command = arguments.Text("command");
  const std::string path = arguments.Text("path");
  if (!arguments.problem().empty()) return {};
  if (command == "view") {
    const auto [first, last] = arguments.OptionalRange("view_range");
    if (!arguments.problem().empty()) return {};
    ToolAnswer file =
        toolbox_.ReadFile(session_id, path, std::max<uint64_t>(first, 1),
                          last == 0 ? 0 : last - first + 1, cancel);
    // The tool is also used for directories.
    if (!file.is_error) return file;
    ToolAnswer directory = toolbox_.ListFiles(session_id, path, cancel);
    return directory.is_error ? file : directory;
  }
  if (command == "create") {
    const std::string text = arguments.Text("file_text");
    if (!arguments.problem().empty()) return {};
    return toolbox_.WriteFile(session_id, path, text, cancel);
  }
  if (command == "str_replace") {
    const std::string from = arguments.Text("old_str");
    const std::string to = arguments.OptionalText("new_str");
    if (!arguments.problem().empty()) return {};
    return toolbox_.EditFile(session_id, path, from, to, false, cancel);
  }
  if (command == "insert") {
    const uint64_t line = arguments.OptionalNumber("insert_line", 0);
    const std::string text = arguments.Text("insert_text");
    if (!arguments.problem().empty()) return {};
    return toolbox_.InsertLines(session_id, path, line, text, cancel);
  }
  return Mistake(
      "The editor has the commands view, create, str_replace and insert.");
}

}  // namespace sandglass::client
