#include "bench/work_directory.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace sandglass::bench {

namespace fs = std::filesystem;

absl::Status MakeWorkDirectory(const std::string& path, const Program& program,
                               const ProgramText& text) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) fs::create_directories(path, error);
  if (error) {
    return absl::ErrnoToStatus(error.value(), absl::StrCat("make ", path));
  }
  std::ofstream file(path + "/" + program.file);
  file << text.code;
  file.close();
  if (program.input_bytes > 0) {
    std::ofstream(path + "/input") << std::string(program.input_bytes, '0');
  }
  if (!file) {
    return absl::UnknownError(absl::StrCat("write a program to ", path));
  }
  return absl::OkStatus();
}

std::vector<std::string> UserEnvironment(const ContenderOptions& options,
                                         const Program& program,
                                         const std::string& home,
                                         const std::string& tmp) {
  std::vector<std::string> env = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                  "LANG=C.UTF-8", absl::StrCat("HOME=", home),
                                  absl::StrCat("TMPDIR=", tmp)};
  if (program.language != "python") return env;
  for (const std::string& entry : options.python_env) {
    const std::string name =
        absl::StrCat(entry.substr(0, entry.find('=')), "=");
    const bool has =
        std::any_of(env.begin(), env.end(), [&name](const std::string& other) {
          return absl::StartsWith(other, name);
        });
    if (!has && name != "PWD=") env.push_back(entry);
  }
  return env;
}

std::vector<std::string> OneCommand(const Program& program) {
  if (program.commands.size() == 1) return program.commands[0];
  return {"/bin/sh", "-c",
          absl::StrJoin(program.commands, " && ",
                        [](std::string* out, const auto& command) {
                          absl::StrAppend(out, absl::StrJoin(command, " "));
                        })};
}

absl::StatusOr<Sample> RunCommands(const std::vector<Command>& commands,
                                   const ProgramText& text) {
  Sample sample = {.cpu = absl::ZeroDuration()};
  std::string output;
  for (const Command& command : commands) {
    absl::StatusOr<CommandResult> result = RunCommand(command);
    if (!result.ok()) return result.status();
    if (command.timed) {
      sample.time += result->time;
      *sample.cpu += result->cpu;
    }
    output = std::move(result->output);
  }
  if (text.output.has_value() && output != *text.output) {
    return absl::UnknownError(absl::StrCat(commands.back().argv[0],
                                           " printed '", output, "' and not '",
                                           *text.output, "'"));
  }
  return sample;
}

std::string FindDebianProgram(const std::string& name) {
  for (const char* directory : {"/usr/bin/", "/usr/sbin/"}) {
    std::string path = directory + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

}  // namespace sandglass::bench
