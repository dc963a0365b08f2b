#include "client/cli/completion.h"

#include <CLI/CLI.hpp>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace sandglass::client {
namespace {

// What may follow a command.
struct Word {
  std::string text;
  std::string help;
};
struct Node {
  std::string path;  // "sandglass session run"
  std::vector<Word> commands;
  std::vector<Word> options;
};

// The first sentence, or what is before a bracket: there is one line for each.
std::string Short(const std::string& help) {
  return help.substr(0, help.find_first_of("\n;(:"));
}

void Collect(const CLI::App& app, const std::string& path,
             std::vector<Node>& nodes) {
  Node node = {path, {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      node.options.push_back({"--" + name, Short(option->get_description())});
    }
    for (const std::string& name : option->get_snames()) {
      node.options.push_back({"-" + name, Short(option->get_description())});
    }
  }
  const auto below = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* each : below) {
    node.commands.push_back({each->get_name(), Short(each->get_description())});
  }
  nodes.push_back(std::move(node));
  for (const CLI::App* each : below) {
    Collect(*each, absl::StrCat(path, " ", each->get_name()), nodes);
  }
}

// For text between single quotes.
std::string Quote(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

std::string Texts(const std::vector<Word>& words) {
  return absl::StrJoin(words, " ", [](std::string* out, const Word& word) {
    absl::StrAppend(out, word.text);
  });
}

// Both shells go through the words that are there and follow the commands among
// them.
std::string Walk(const std::vector<Node>& nodes, const std::string& words) {
  std::vector<std::string> paths;
  for (size_t i = 1; i < nodes.size(); ++i) {
    paths.push_back(absl::StrCat("'", nodes[i].path, "'"));
  }
  return absl::StrCat("  local at=sandglass word\n  for word in ", words,
                      "; do\n    [[ $word == -- ]] && at=sandglass.words && "
                      "break\n    case \"$at $word\" in\n      ",
                      absl::StrJoin(paths, "|"),
                      ") at+=\" $word\" ;;\n    esac\n  done\n");
}

std::string Bash(const std::vector<Node>& nodes) {
  std::string cases;
  for (const Node& node : nodes) {
    absl::StrAppend(&cases, "    '", node.path, "') commands='",
                    Texts(node.commands), "' options='", Texts(node.options),
                    "' ;;\n");
  }
  return absl::StrCat(
      "# bash completion for sandglass, made by: sandglass completion bash\n"
      "_sandglass() {\n",
      Walk(nodes, "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\""),
      "  local commands='' options='' now=${COMP_WORDS[COMP_CWORD]}\n"
      "  case $at in\n",
      cases,
      "  esac\n"
      "  [[ $now == -* ]] && commands=$options\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$now\")\n"
      "}\n"
      "complete -o default -F _sandglass sandglass\n");
}

std::string Zsh(const std::vector<Node>& nodes) {
  const auto list = [](const std::vector<Word>& words) {
    return absl::StrJoin(words, " ", [](std::string* out, const Word& word) {
      absl::StrAppend(out, Quote(absl::StrCat(word.text, ":", word.help)));
    });
  };
  std::string cases;
  for (const Node& node : nodes) {
    absl::StrAppend(&cases, "    '", node.path, "')\n      commands=(",
                    list(node.commands), ")\n      options=(",
                    list(node.options), ") ;;\n");
  }
  return absl::StrCat(
      "#compdef sandglass\n"
      "# zsh completion for sandglass, made by: sandglass completion zsh\n"
      "_sandglass() {\n",
      Walk(nodes, "\"${(@)words[2,CURRENT-1]}\""),
      "  local -a commands options\n"
      "  case $at in\n",
      cases,
      "  esac\n"
      "  if [[ ${words[CURRENT]} == -* ]]; then\n"
      "    _describe -o option options\n"
      "  elif (( ${#commands} )); then\n"
      "    _describe command commands\n"
      "  else\n"
      "    _files\n"
      "  fi\n"
      "}\n"
      "_sandglass \"$@\"\n");
}

std::string Fish(const std::vector<Node>& nodes) {
  std::string text =
      "# fish completion for sandglass, made by: sandglass completion fish\n"
      "function __sandglass_at\n"
      "  set -l at sandglass\n"
      "  for word in (commandline -opc)[2..]\n"
      "    test \"$word\" = -- && return 1\n"
      "    switch \"$at $word\"\n"
      "      case";
  for (size_t i = 1; i < nodes.size(); ++i) {
    absl::StrAppend(&text, " '", nodes[i].path, "'");
  }
  absl::StrAppend(&text,
                  "\n        set at \"$at $word\"\n"
                  "    end\n"
                  "  end\n"
                  "  test \"$at\" = \"$argv\"\n"
                  "end\n");
  for (const Node& node : nodes) {
    const std::string begin = absl::StrCat(
        "complete -c sandglass -n \"__sandglass_at ", node.path, "\"");
    for (const Word& word : node.commands) {
      absl::StrAppend(&text, begin, " -f -a ", word.text, " -d ",
                      Quote(word.help), "\n");
    }
    for (const Word& word : node.options) {
      const bool is_long = word.text[1] == '-';
      absl::StrAppend(&text, begin, is_long ? " -l " : " -s ",
                      word.text.substr(is_long ? 2 : 1), " -d ",
                      Quote(word.help), "\n");
    }
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> CompletionScript(const CLI::App& app,
                                             const std::string& shell) {
  std::vector<Node> nodes;
  Collect(app, "sandglass", nodes);
  if (shell == "bash") return Bash(nodes);
  if (shell == "zsh") return Zsh(nodes);
  if (shell == "fish") return Fish(nodes);
  return absl::InvalidArgumentError(
      absl::StrCat("'", shell, "' has no completion: write bash, zsh or fish"));
}

}  // namespace sandglass::client
