#include "client/cli/usage_words.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "policy/text/json_reader.h"

namespace sandglass::client {
namespace {

// The innermost command that was typed, or the whole program.
const CLI::App& Innermost(const CLI::App& app) {
  const CLI::App* inner = &app;
  while (!inner->get_subcommands().empty()) {
    inner = inner->get_subcommands().front();
  }
  return *inner;
}

// The commands below this one.
std::vector<std::string> CommandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each :
       app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(each->get_name());
  }
  return names;
}

// The options that may stand here, as they are typed.
std::vector<std::string> OptionsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
    for (const CLI::Option* option : at->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        names.push_back(absl::StrCat("--", name));
      }
    }
  }
  return names;
}

// "; did you mean '…'?" or nothing. An option that was cut short is meant
// before one that is spelt alike.
std::string DidYouMean(const std::string& word,
                       const std::vector<std::string>& candidates,
                       const std::string& before) {
  const auto longer =
      std::ranges::find_if(candidates, [&](const std::string& each) {
        return word.size() > 3 && absl::StartsWith(each, word);
      });
  const std::string meant = longer != candidates.end()
                                ? *longer
                                : policy::NearestWord(word, candidates);
  return meant.empty() ? ""
                       : absl::StrCat("; did you mean '", before, meant, "'?");
}

}  // namespace

void GroupCommands(CLI::App& app) {
  static const std::map<std::string, std::string>& groups =
      *new std::map<std::string, std::string>{
          {"run", "Programs"},      {"session", "Programs"},
          {"agent", "Programs"},    {"mcp", "Programs"},
          {"ps", "Programs"},       {"kill", "Programs"},
          {"up", "Daemon"},         {"down", "Daemon"},
          {"logs", "Daemon"},       {"info", "Daemon"},
          {"languages", "Daemon"},  {"layers", "Daemon"},
          {"status", "Operation"},  {"top", "Operation"},
          {"usage", "Operation"},   {"doctor", "Operation"},
          {"policy", "Operation"},  {"approvals", "Operation"},
          {"audit", "Operation"},   {"help", "This tool"},
          {"version", "This tool"}, {"completion", "This tool"},
          {"whoami", "Access"},     {"context", "Access"},
          {"token", "Access"},      {"cert", "Access"},
      };
  for (CLI::App* command :
       app.get_subcommands([](const CLI::App*) { return true; })) {
    const auto group = groups.find(command->get_name());
    if (group != groups.end()) command->group(group->second);
  }
}

std::string TypedCommand(const CLI::App& app) {
  std::string path;
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    absl::StrAppend(&path, at->get_name(), " ");
  }
  return path;
}

bool LacksCommand(const CLI::App& app) {
  const std::vector<std::string> extra = app.remaining(/*recurse=*/true);
  return !CommandsOf(Innermost(app)).empty() &&
         std::ranges::any_of(extra, [](const std::string& word) {
           return !absl::StartsWith(word, "-");
         });
}

std::string PlainWords(absl::string_view message) {
  const std::vector<std::string> missing =
      absl::StrSplit(message, absl::MaxSplits(": 1 required ", 1));
  if (missing.size() == 2 && absl::EndsWith(message, " missing")) {
    return absl::StrCat(missing[0], " needs a value: ",
                        absl::StripSuffix(missing[1], " missing"));
  }
  // Of a flag that was given one.
  if (absl::ConsumePrefix(&message, "Could not convert: ")) {
    return absl::StrCat(message.substr(0, message.find(' ')),
                        " takes no value");
  }
  return std::string(message);
}

std::string UnexpectedWord(const CLI::App& app,
                           const std::vector<std::string>& arguments) {
  const std::vector<std::string> extra = app.remaining(/*recurse=*/true);
  // An option that is not there stands before its value.
  const auto first = std::ranges::find_first_of(arguments, extra);
  if (first == arguments.end()) return "";
  const std::string command = TypedCommand(app);
  const CLI::App& inner = Innermost(app);
  if (absl::StartsWith(*first, "-")) {
    const std::string option = first->substr(0, first->find('='));
    return absl::StrCat("there is no option '", option, "'",
                        DidYouMean(option, OptionsOf(inner), ""));
  }
  if (LacksCommand(app)) {
    return absl::StrCat("there is no command '", command, *first, "'",
                        DidYouMean(*first, CommandsOf(inner), command));
  }
  if (command == "session exec ") {
    return absl::StrCat("unexpected '", *first,
                        "'; the command goes after --: sandglass session exec "
                        "ID -- ",
                        absl::StrJoin(extra, " "));
  }
  if (command == "run ") {
    return absl::StrCat(
        "unexpected '", *first,
        "'; program arguments go after --: sandglass run FILE -- ",
        absl::StrJoin(extra, " "));
  }
  return absl::StrCat("unexpected '", *first, "'");
}

}  // namespace sandglass::client
