#include "bench/language_programs.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "bench/command.h"
#include "sandbox/os/status.h"

namespace sandglass::bench {
namespace {

namespace fs = std::filesystem;

constexpr char kOutput[] = "run 0";
constexpr Bar kAsBare = {.factor = 1, .extra = absl::Milliseconds(4)};
constexpr Bar kAlmostAsBare = {.factor = 1.05, .extra = absl::Milliseconds(4)};
// The daemon has the header compiled already.
constexpr Bar kPrecompiled = {.factor = 0.35, .extra = absl::ZeroDuration()};

// A directory that is gone afterwards.
class FreshDirectory {
 public:
  explicit FreshDirectory(const std::string& parent)
      : path_(parent + "/run.XXXXXX") {
    made_ = ::mkdtemp(path_.data()) != nullptr;
  }
  ~FreshDirectory() {
    std::error_code error;
    if (made_) fs::remove_all(path_, error);
  }
  FreshDirectory(const FreshDirectory&) = delete;
  FreshDirectory& operator=(const FreshDirectory&) = delete;
  bool made() const { return made_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_;
};

// A user's, as far as it matters; caches are below HOME and stay warm.
absl::StatusOr<std::vector<std::string>> UserEnvironment(
    const std::string& scratch) {
  for (const char* name : {"/home", "/tmp"}) {
    std::error_code error;
    fs::create_directories(scratch + name, error);
    if (error) {
      return absl::ErrnoToStatus(error.value(),
                                 absl::StrCat("mkdir ", scratch, name));
    }
  }
  return std::vector<std::string>{"PATH=/usr/local/bin:/usr/bin:/bin",
                                  "LANG=C.UTF-8",
                                  absl::StrCat("HOME=", scratch, "/home"),
                                  absl::StrCat("TMPDIR=", scratch, "/tmp")};
}

}  // namespace

std::vector<LanguageProgram> LanguagePrograms() {
  const std::vector<std::string> gxx = {
      "/usr/bin/g++", "-std=c++20", "-O2", "-o", "main", "main.cpp"};
  return {
      {"bash",
       "bash",
       "main.sh",
       "main.sh",
       {{"/usr/bin/bash", "main.sh"}},
       false,
       kAsBare},
      {"javascript",
       "javascript",
       "main.js",
       "main.js",
       {{"/usr/bin/node", "main.js"}},
       false,
       kAsBare},
      {"perl",
       "perl",
       "main.pl",
       "main.pl",
       {{"/usr/bin/perl", "main.pl"}},
       false,
       kAsBare},
      {"python",
       "python",
       "main.py",
       "main.py",
       {{"/usr/bin/python3", "main.py"}},
       false,
       kAsBare},
      {"ruby",
       "ruby",
       "main.rb",
       "main.rb",
       {{"/usr/bin/ruby", "main.rb"}},
       false,
       kAsBare},
      {"go",
       "go",
       "main.go",
       "main.go",
       {{"/usr/bin/go", "build", "-o", "main", "main.go"}, {"./main"}},
       true,
       kAsBare},
      {"java",
       "java",
       "Main.java",
       "Main.java",
       {{"/usr/bin/javac", "Main.java"}, {"/usr/bin/java", "-cp", ".", "Main"}},
       true,
       kAlmostAsBare},
      {"cpp",
       "cpp",
       "main.cpp",
       "main.cpp",
       {gxx, {"./main"}},
       true,
       kAlmostAsBare},
      {"cpp, bits/stdc++.h",
       "cpp",
       "everything.cpp",
       "main.cpp",
       {gxx, {"./main"}},
       true,
       kPrecompiled},
  };
}

absl::StatusOr<ProgramText> ReadProgram(const std::string& directory,
                                        const LanguageProgram& program,
                                        int number) {
  const std::string path = absl::StrCat(directory, "/", program.source);
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || !absl::StrContains(text.str(), kOutput)) {
    return absl::NotFoundError(
        absl::StrCat(path, " is no program that prints '", kOutput, "'"));
  }
  const std::string output = absl::StrCat("run ", number);
  return ProgramText{
      .code = absl::StrReplaceAll(text.str(), {{kOutput, output}}),
      .output = output + "\n"};
}

std::string WhyNotBare(const LanguageProgram& program) {
  for (const std::vector<std::string>& command : program.commands) {
    const std::string& path = command.front();
    if (absl::StartsWith(path, "/") && ::access(path.c_str(), X_OK) != 0) {
      return absl::StrCat(path, " is not installed");
    }
  }
  return "";
}

absl::StatusOr<absl::Duration> TimeBare(const LanguageProgram& program,
                                        const ProgramText& text,
                                        const std::string& scratch) {
  const absl::StatusOr<std::vector<std::string>> env = UserEnvironment(scratch);
  if (!env.ok()) return env.status();
  const FreshDirectory directory(scratch);
  if (!directory.made()) return os::ErrnoStatus("mkdtemp ", directory.path());
  const std::string path = absl::StrCat(directory.path(), "/", program.file);
  std::ofstream file(path);
  file << text.code;
  file.close();
  if (!file) return os::ErrnoStatus("write ", path);
  absl::Duration time;
  std::string output;
  for (const std::vector<std::string>& command : program.commands) {
    absl::StatusOr<CommandResult> result = RunCommand(
        {.argv = command, .env = *env, .directory = directory.path()});
    if (!result.ok()) return result.status();
    time += result->time;
    output = result->output;
  }
  if (output != text.output) {
    return absl::UnknownError(absl::StrCat("bare ", program.name, " printed '",
                                           output, "' and not '", text.output,
                                           "'"));
  }
  return time;
}

}  // namespace sandglass::bench
