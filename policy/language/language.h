#ifndef SANDGLASS_POLICY_LANGUAGE_LANGUAGE_H_
#define SANDGLASS_POLICY_LANGUAGE_LANGUAGE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "policy/language/image.h"
#include "policy/libraries/library_recipe.h"
#include "policy/limits/limit_floors.h"

namespace sandglass::policy {

// Absolute executable, then arguments; may have placeholders.
using Command = std::vector<std::string>;
using StringPairs = std::vector<std::pair<std::string, std::string>>;

// When what a compiler made may be kept for the next run of the same program:
// what its result depends on beside what it was given. All lists may be empty.
struct CompileCacheRules {
  // Files and directories outside the packages that it may read. A directory
  // stands for itself and what is directly in it, with "/**" at its end for all
  // below.
  std::vector<std::string> reads;
  // A program with one of these texts in any of its files is never kept.
  std::vector<std::string> not_with_text;
  // Nor is one with a file whose name ends so.
  std::vector<std::string> not_with_files;

  friend bool operator==(const CompileCacheRules&,
                         const CompileCacheRules&) = default;
};

// How the interpreter, compiler or analyser of a phase is started ahead of its
// program: it then waits in a jail. For what can't be forked (see
// ZygoteRecipe).
struct PrestartRecipe {
  // Ends up waiting, see sandbox/jail/job_frame.h. Begins with the executable
  // of the phase's command.
  Command command;
  // What it is told to do; for a run the request's args follow.
  std::vector<std::string> arguments;
  // It can't take another environment than it was started with, so a run with
  // variables of its own has to be started fresh.
  bool fixed_env = false;
  // No compiler's: it says when the program, or its look, is over, see
  // sandbox/jail/job_frame.h.
  bool tells_end = false;
  uint64_t idle_bytes = 0;  // what one that waits holds
  uint32_t floor = 1;       // jails kept, at least, while it is in use
  uint32_t ceiling = 1;     // and at most
  // Kept from the daemon's start on, else from the first use on; for the
  // default profile and limits.
  bool from_start = false;
};

// A phase before the run, in a jail of its own.
struct CompilePhase {
  Command command;
  // Paths and globs below /workspace: what the run's jail gets.
  std::vector<std::string> artifacts;
  StringPairs env;
  LimitFloors limits;
  // As in Language, of the compiler.
  std::vector<std::string> out_of_memory;
  // Absent: never kept.
  std::optional<CompileCacheRules> cache;
  std::optional<PrestartRecipe> prestart;
};

// What is made once per image, in jails that no user's code ever enters, and is
// then there for every run, read-only.
struct Preparation {
  // The language works without it, only slower.
  bool optional = false;
  // It takes next to nothing, so it comes before the others.
  bool quick = false;
  StringPairs files;  // name below /workspace and content
  // One jail each, in this order. What one makes is in ${prepared} for those
  // after it.
  std::vector<Command> commands;
  std::vector<std::string> artifacts;  // as in CompilePhase; go to ${prepared}
  StringPairs env;
  LimitFloors limits;
};

// An interpreter that can wait with its imports done and be forked into a jail
// for each run.
struct ZygoteKind {
  std::string name;                  // [a-z][a-z0-9]*, for example "lean"
  std::vector<std::string> preload;  // modules, handed to the script
  // Modules that a program has to name for this kind to serve it; the kind with
  // none serves the others.
  std::vector<std::string> serves;
  // Absolute paths; where the image lacks one there is no such kind.
  std::vector<std::string> needs;
  // What an idle jail of this kind holds, of the pool's budget.
  uint64_t idle_memory_bytes = uint64_t{4} << 20;
};
struct ZygoteRecipe {
  Command command;  // the interpreter; script and modules follow
  // Its native half: the name of a file beside the spawner.
  std::string library;
  // The dynamic linker loads that, and the interpreter is started as for a
  // program; otherwise the script, which is the program then, loads it.
  bool inject = false;
  std::string script;  // the content of its files, one after another
  std::vector<ZygoteKind> kinds;
};

// An interpreter that runs cells one after another and keeps their state
// (docs/sessions.md has its protocol).
struct KernelRecipe {
  // How it is told what to run.
  enum class Commands {
    kJson,   // an object a line
    kBytes,  // a line with lengths, then what they are of
  };
  // Started in a jail; its descriptor 3 is where it tells its events.
  Command command;
  // What a zygote's runner is told instead; empty: it can't be one.
  Command runner_arguments;
  Commands commands = Commands::kJson;
};

// A program that tells what the text of others names, for rules (facts.h). It
// runs in a jail, before them, and never runs anything of theirs.
struct AnalyserRecipe {
  Command command;  // "${sources}" are the files that it reads
  // Instead of that: the compiler tells, in the file `facts` below /workspace,
  // when these words come before the sources.
  Command compile_arguments;
  std::string facts;
  // What a zygote's runner is told instead; empty: it can't be one.
  Command runner_arguments;
  // A zygote's runner looks at a program itself before it runs it.
  bool in_runner = false;
  // Of `command`, in jails of the profiles that have rules for it.
  std::optional<PrestartRecipe> prestart;
  // What the analyser takes for no program its language will not run either:
  // both use the same parser.
  bool same_parser = false;
  // Ends of the names of files that the analyser reads beside the language's
  // own, and of those that a program can load and the analyser can't read.
  std::vector<std::string> reads;
  std::vector<std::string> opaque;
};

// A program that works wherever the language does: the daemon runs it to know.
struct Canary {
  std::string code;
  std::string output;  // all that it prints to standard output
  // A program that has /bin/sh run the file kIsolationFile of its working
  // directory, with its own output; empty: there is none.
  std::string shell;
};
inline constexpr char kIsolationFile[] = "isolation.sh";

// One language as its file under policy/data/languages/ describes it.
// placeholders.h tells what commands and environments may refer to.
struct Language {
  std::string id;    // file name without ".json": [a-z][a-z0-9]*
  std::string name;  // for people, for example "Python"
  std::vector<std::string> aliases;
  std::vector<std::string> extensions;    // with the dot
  std::vector<std::string> interpreters;  // shebang basenames, "python3"
  std::string source_file;  // name below /workspace, for example "main.py"
  StringPairs files;  // staged too, unless the request has one of that name
  std::optional<CompilePhase> compile;
  Command run;      // the request's args follow
  Command version;  // prints the runtime's version
  StringPairs env;  // of the run
  // The least that its runtime works with; raises a profile's where lower.
  LimitFloors limits;
  uint32_t heap_percent = 60;      // of the memory limit: ${heap_mib}
  std::string package;             // Debian package that provides it
  std::vector<std::string> needs;  // executables beside the commands' own
  std::optional<Preparation> prepare;
  std::optional<ZygoteRecipe> zygote;
  std::optional<PrestartRecipe> prestart;  // of the run
  std::optional<KernelRecipe> kernel;
  std::optional<AnalyserRecipe> analyser;
  std::optional<LibraryRecipe> libraries;  // absent: none can be asked for
  std::optional<Canary> canary;
  // What its runtime writes to stderr when it gives up for lack of memory.
  std::vector<std::string> out_of_memory;
  // Environment names that act before user code can, so that a request which
  // sets one needs a fresh interpreter.
  std::vector<std::string> start_env;

  // Where the prepared files are inside a jail; set by whoever prepares.
  std::string prepared_dir;

  // Set by InImage: the image that has it, and where the host has that one's
  // root. Empty: the host's own.
  std::string image;
  std::string image_root;
};

// All languages, ids and aliases unique.
class LanguageTable {
 public:
  // Reads every *.json in `directory`, and the files that they name. Errors
  // name file and JSON pointer.
  static absl::StatusOr<LanguageTable> Load(const std::string& directory);
  static absl::StatusOr<LanguageTable> Create(std::vector<Language> languages);

  // By id or alias, in any case; nullptr when there is none. The pointer lives
  // as long as the table.
  const Language* Find(std::string_view id_or_alias) const;
  const std::vector<Language>& languages() const { return languages_; }
  // The same in an image: InImage of each, or `languages()` for kHostImage.
  // nullptr when there is no such image.
  const std::vector<Language>* LanguagesIn(std::string_view image) const;
  // A language of this table in an image of it.
  const Language& In(std::string_view image, const Language& language) const;
  // Sorted, kHostImage among them.
  std::vector<std::string> images() const;
  // The languages of every image, those of the host's first.
  std::vector<const Language*> InAllImages() const;

  // Before the table is shared.
  void AddImage(const Image& image);
  // Of every language, in every image.
  void SetPreparedDirs(
      const std::function<std::string(const Language&)>& directory_of);
  // Takes every kind of zygote away for which `keep` is false; likewise.
  void KeepZygoteKinds(
      const std::function<bool(const Language&, const ZygoteKind&)>& keep);

 private:
  std::vector<Language> languages_;
  // Of images other than the host's, in the order of languages_.
  std::map<std::string, std::vector<Language>, std::less<>> images_;

  void ForEach(const std::function<void(Language&)>& change);
};

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LANGUAGE_LANGUAGE_H_
