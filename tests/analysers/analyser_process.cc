#include "tests/analysers/analyser_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "policy/language/language.h"
#include "policy/language/placeholders.h"
#include "sandbox/jail/job_frame.h"
#include "tests/support/slowdown.h"

namespace sandglass::testing {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(1);
constexpr absl::Duration kPreparationPatience = absl::Minutes(4);

// For posix_spawn; it lives as long as `words`.
std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) {
    pointers.push_back(const_cast<char*>(word.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Runs a command in a directory, with its input and output in files; its exit
// code, 128 + n for a signal, -1 when it took too long or can't be started.
int RunIn(const std::string& directory, const std::vector<std::string>& command,
          const std::string& in, const std::string& out, const std::string& err,
          absl::Duration patience) {
  const std::vector<char*> argv = Pointers(command);
  const std::string home = absl::StrCat("HOME=", directory);
  const std::vector<std::string> environment = {
      "PATH=/usr/bin:/bin", "LANG=C.UTF-8", home, "GOPROXY=off",
      absl::StrCat("GOCACHE=", directory, "/.cache")};
  const std::vector<char*> env = Pointers(environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  posix_spawn_file_actions_addopen(&actions, 0, in.c_str(), O_RDONLY, 0);
  constexpr int kNew = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), kNew, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), kNew, 0600);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, argv[0], &actions, &attributes,
                                argv.data(), env.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return -1;
  const absl::Time end = absl::Now() + patience * Slowdown();
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (absl::Now() > end) {
      ::kill(-pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
      return -1;
    }
    absl::SleepFor(absl::Milliseconds(2));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

constexpr char kSecret[] = "5ec2e7";

// Takes what isn't facts out of what one that waited wrote: that it waits, and
// with what exit code it ended. Without both of them all is left as it was.
void TakeItsWords(Analysis& analysis) {
  const std::string waiting = absl::StrCat(sandbox::kWaitingWord, "\n");
  const std::string end =
      absl::StrCat(sandbox::EndWord(kSecret), analysis.exit_code, "\n");
  if (absl::StartsWith(analysis.facts, waiting) &&
      absl::EndsWith(analysis.facts, end)) {
    analysis.facts.erase(analysis.facts.size() - end.size());
    analysis.facts.erase(0, waiting.size());
  }
}

const policy::LanguageTable& Languages() {
  static const auto table = policy::LanguageTable::Load(
      SANDGLASS_SOURCE_DIR "/policy/data/languages");
  EXPECT_TRUE(table.ok()) << table.status().message();
  return *table;
}

}  // namespace

bool Analysis::whole() const {
  return absl::StartsWith(facts, "sandglass-facts 1\n") &&
         absl::EndsWith(facts, "\nend\n");
}

bool Analysis::overflown() const {
  return absl::StartsWith(facts, "sandglass-facts 1\n") &&
         absl::EndsWith(facts, "\noverflow\n");
}

std::string Analysis::Lines() const {
  if (!whole() && !overflown()) return absl::StrCat("<not whole>\n", facts);
  std::vector<std::string> lines = absl::StrSplit(facts, '\n');
  std::string text;
  for (size_t i = 1; i + 2 < lines.size(); ++i) {
    const std::vector<std::string> parts = absl::StrSplit(lines[i], '\t');
    if (parts.size() != 7) return absl::StrCat("<no fact> ", lines[i], "\n");
    absl::StrAppend(&text, parts[0], " ");
    if (parts[1] != "0") absl::StrAppend(&text, parts[1], ":");
    absl::StrAppend(&text, parts[2], ":", parts[3]);
    if (parts[4] != "1") absl::StrAppend(&text, " x", parts[4]);
    absl::StrAppend(&text, " ", parts[5]);
    if (!parts[6].empty()) absl::StrAppend(&text, " | ", parts[6]);
    absl::StrAppend(&text, "\n");
  }
  return text;
}

const Analyser& Analyser::Of(const std::string& language, bool waits) {
  // Goes at the process's end, and with it what was made.
  static std::map<std::pair<std::string, bool>, std::unique_ptr<Analyser>>
      analysers;
  std::unique_ptr<Analyser>& analyser = analysers[{language, waits}];
  if (analyser == nullptr) {
    analyser = std::make_unique<Analyser>(language, waits);
  }
  return *analyser;
}

Analyser::Analyser(const std::string& language, bool waits) : waits_(waits) {
  const policy::Language& recipe = *Languages().Find(language);
  source_file_ = recipe.source_file;
  for (const auto& [name, content] : recipe.prepare->files) {
    std::filesystem::create_directories(
        std::filesystem::path(directory_.Path(name)).parent_path());
    WriteFile(directory_.Path(name), content);
  }
  policy::PlaceholderValues values;
  values.prepared = directory_.path();
  // What follows them is for other uses, and takes its time.
  std::vector<policy::Command> prepare = {recipe.prepare->commands[0]};
  const std::string made = directory_.Path("analyse");
  if (language == "cpp") {
    command_ = {made};
  } else if (language == "go") {
    // Without the library's whole index.
    WriteFile(directory_.Path("go.mod"), "module main\n\ngo 1.19\n");
    prepare = {{"/usr/bin/go", "build", "-o", "analyse", "./analyser"}};
    command_ = {made};
  } else if (language == "java") {
    facts_file_ = "facts";
    // Up to the class archive.
    prepare.push_back(recipe.prepare->commands[1]);
    prepare.push_back(recipe.prepare->commands[2]);
    command_ = {
        "/usr/bin/java",
        absl::StrCat("-XX:SharedArchiveFile=", prepared(), "/compile.jsa"),
        "-Xlog:disable",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-XX:-UsePerfData",
        "-Xmx300m",
        "-jar",
        directory_.Path("compile.jar"),
        "--facts",
        facts_file_};
  } else if (language == "javascript") {
    command_ = {"/usr/bin/node", "--expose-internals",
                directory_.Path("analyse.cjs")};
  } else {
    command_ = {"/usr/bin/ruby", "--disable-gems",
                directory_.Path("analyse.rb")};
  }
  const std::string err = directory_.Path("prepare.err");
  for (const policy::Command& command : prepare) {
    EXPECT_EQ(RunIn(directory_.path(), policy::ExpandCommand(command, values),
                    "/dev/null", "/dev/null", err, kPreparationPatience),
              0)
        << absl::StrJoin(command, " ") << "\n"
        << ReadFile(err);
  }
}

Analysis Analyser::Look(const ProgramFiles& files) const {
  const TempDir program;
  std::vector<std::string> names;
  for (const auto& [name, content] : files) {
    std::filesystem::create_directories(
        std::filesystem::path(program.Path(name)).parent_path());
    WriteFile(program.Path(name), content);
    names.push_back(name);
  }
  return LookIn(program.path(), names);
}

Analysis Analyser::Look(const std::string& program) const {
  return Look(ProgramFiles{{source_file_, program}});
}

Analysis Analyser::LookIn(const std::string& directory,
                          const std::vector<std::string>& arguments) const {
  std::vector<std::string> command = command_;
  if (waits_) {
    command.emplace_back("--wait");
    sandbox::ProgramSpec job;
    job.argv = arguments;
    job.env = {"HOME=/"};
    Analysis analysis =
        LookWith(command, directory, sandbox::JobFrame(job, kSecret));
    TakeItsWords(analysis);
    return analysis;
  }
  command.insert(command.end(), arguments.begin(), arguments.end());
  return LookWith(command, directory);
}

Analysis Analyser::LookWith(const std::vector<std::string>& command,
                            const std::string& directory,
                            const std::string& input) const {
  const TempDir streams;
  WriteFile(streams.Path("in"), input);
  Analysis analysis;
  analysis.exit_code =
      RunIn(directory, command, streams.Path("in"), streams.Path("out"),
            streams.Path("err"), kPatience);
  analysis.err = ReadFile(streams.Path("err"));
  analysis.facts =
      ReadFile(facts_file_.empty() ? streams.Path("out")
                                   : directory + "/" + facts_file_);
  return analysis;
}

}  // namespace sandglass::testing
