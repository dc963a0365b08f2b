#include "bench/programs.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace sandglass::bench {
namespace {

constexpr char kOutput[] = "run 0";
constexpr absl::Duration kFour = absl::Milliseconds(4);

std::vector<std::string> Gxx() {
  return {"/usr/bin/g++", "-std=c++20", "-O2", "-o", "main", "main.cpp"};
}
std::vector<std::string> GoBuild() {
  return {"/usr/bin/go", "build", "-o", "main", "main.go"};
}

// What programs do in which a sandbox's cost shows most: starting quickly,
// writing line by line, forking, reading much.
void AddSlowRows(std::vector<Program>& programs) {
  constexpr Bar kHello = {.median = 1.3};
  constexpr Bar kPrints = {.median = 1.1};
  constexpr size_t kNumbers = 20'000;
  const auto add = [&programs](const char* like, const char* name,
                               const char* source, Bar bar) -> Program& {
    Program program = *std::find_if(
        programs.begin(), programs.end(),
        [like](const Program& each) { return each.name == like; });
    program.name = name;
    program.source = source;
    program.bar = bar;
    program.beside_bare_alone = true;
    return programs.emplace_back(std::move(program));
  };
  const auto compiled = [](Program& program,
                           std::vector<std::string> compiler) {
    program.commands = {std::move(compiler), {"./main"}};
    program.making_commands = 1;
  };
  compiled(add("cpp", "cpp-hello", "main.cpp", kHello), Gxx());
  compiled(add("go", "go-hello", "main.go", kHello), GoBuild());
  for (const auto& [like, source] :
       {std::pair("python", "prints.py"), std::pair("node", "prints.js"),
        std::pair("ruby", "prints.rb"), std::pair("bash", "prints.sh"),
        std::pair("perl", "prints.pl"), std::pair("java", "Prints.java")}) {
    add(like, absl::StrCat(like, "-prints").c_str(), source, kPrints).numbers =
        kNumbers;
  }
  Program& cpp = add("cpp", "cpp-prints", "prints.cpp", kPrints);
  compiled(cpp, Gxx());
  cpp.numbers = kNumbers;
  Program& go = add("go", "go-prints", "prints.go", kPrints);
  compiled(go, GoBuild());
  go.numbers = kNumbers;
  add("python", "python-forks", "forks.py", {.median = 1.2});
  add("python", "python-input", "input.py", {.median = 1.15}).input_bytes =
      size_t{4} << 20;
}

std::vector<Program> MakePrograms() {
  const auto python = [](const char* name, const char* source, Bar bar) {
    return Program{.name = name,
                   .language = "python",
                   .source = source,
                   .file = "main.py",
                   .commands = {{"/usr/bin/python3", "main.py"}},
                   .bar = bar};
  };
  std::vector<Program> programs = {
      python("python", "main.py", {.median = 0.10, .tail = 0.4}),
      python("python-stdlib", "stdlib.py", {}),
      python("python-frame", "frame.py", {.median = 0.02}),
      python("python-plot", "plot.py", {}),
      {.name = "node",
       .language = "javascript",
       .source = "main.js",
       .file = "main.js",
       .commands = {{"/usr/bin/node", "main.js"}},
       .bar = {.median = 0.15}},
      {.name = "ruby",
       .language = "ruby",
       .source = "main.rb",
       .file = "main.rb",
       .commands = {{"/usr/bin/ruby", "main.rb"}},
       .bar = {.median = 0.06}},
      {.name = "bash",
       .language = "bash",
       .source = "main.sh",
       .file = "main.sh",
       .commands = {{"/usr/bin/bash", "main.sh"}},
       .bar = {.median = 1.3}},
      {.name = "perl",
       .language = "perl",
       .source = "main.pl",
       .file = "main.pl",
       .commands = {{"/usr/bin/perl", "main.pl"}},
       .bar = {.median = 1.3}},
      {.name = "java",
       .language = "java",
       .source = "Main.java",
       .file = "Main.java",
       .commands = {{"/usr/bin/java", "Main.java"}},
       .bar = {.median = 0.15}},
      {.name = "cpp",
       .language = "cpp",
       .source = "main.cpp",
       .file = "main.cpp",
       .commands = {Gxx(), {"./main"}},
       .same_text = true,
       .bar = {.median = 0.05}},
      {.name = "go",
       .language = "go",
       .source = "main.go",
       .file = "main.go",
       .commands = {{"/usr/bin/go", "run", "main.go"}},
       .same_text = true,
       .bar = {.median = 0.05}},
      {.name = "cpp-new",
       .language = "cpp",
       .source = "main.cpp",
       .file = "main.cpp",
       .commands = {Gxx(), {"./main"}},
       .bar = {.median = 1.05, .extra = kFour}},
      {.name = "cpp-everything-new",
       .language = "cpp",
       .source = "everything.cpp",
       .file = "main.cpp",
       .commands = {Gxx(), {"./main"}},
       // The daemon has the header compiled already.
       .bar = {.median = 0.35}},
      {.name = "go-new",
       .language = "go",
       .source = "main.go",
       .file = "main.go",
       .commands = {GoBuild(), {"./main"}},
       .bar = {.median = 1, .extra = kFour}},
  };
  for (Program& program : programs) {
    if (program.name == "python-plot") program.makes = "plot.png";
  }
  AddSlowRows(programs);
  return programs;
}

}  // namespace

const std::vector<Program>& Programs() {
  static const std::vector<Program>& programs =
      *new std::vector<Program>(MakePrograms());
  return programs;
}

const Program* FindProgram(const std::string& name) {
  const std::vector<Program>& all = Programs();
  const auto found = std::find_if(
      all.begin(), all.end(),
      [&name](const Program& program) { return program.name == name; });
  return found == all.end() ? nullptr : &*found;
}

absl::StatusOr<ProgramText> ReadProgram(const std::string& directory,
                                        const Program& program, int number) {
  const std::string path = absl::StrCat(directory, "/", program.source);
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || !absl::StrContains(text.str(), kOutput)) {
    return absl::NotFoundError(
        absl::StrCat(path, " is no program that prints '", kOutput, "'"));
  }
  std::string output = absl::StrCat("run ", program.same_text ? 0 : number);
  std::string code = absl::StrReplaceAll(text.str(), {{kOutput, output}});
  output += "\n";
  for (size_t i = 0; i < program.numbers; ++i) {
    absl::StrAppend(&output, i, "\n");
  }
  return ProgramText{.code = std::move(code), .output = std::move(output)};
}

std::string WhyNotInstalled(const Program& program) {
  for (const std::vector<std::string>& command : program.commands) {
    const std::string& path = command.front();
    if (absl::StartsWith(path, "/") && ::access(path.c_str(), X_OK) != 0) {
      return absl::StrCat(path, " is not installed");
    }
  }
  return "";
}

}  // namespace sandglass::bench
