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

// An absolute executable, then its arguments; may contain placeholders.
using Command = std::vector<std::string>;
using StringPairs = std::vector<std::pair<std::string, std::string>>;

// Says when a compiler's result may be kept for the next run of the same
// program, by listing what the result depends on besides the input. All lists
// may be empty.
struct CompileCacheRules {
  // Files and directories outside of the packages that the compiler may read. A
  // directory stands for itself and what is directly in it; with "/**" at its
  // end, for everything below it.
  std::vector<std::string> reads;
  // Nothing is kept for a program if one of these texts is in its files.
  std::vector<std::string> not_with_text;
  // Nor if the name of one of its files ends in one of these.
  std::vector<std::string> not_with_files;

  friend bool operator==(const CompileCacheRules&,
                         const CompileCacheRules&) = default;
};

// How the interpreter, compiler or analyser of a phase is started before its
// program is known, so that it waits in a jail. For programs that can't be
// forked (see ZygoteRecipe).
struct PrestartRecipe {
  // The command that starts it; it then waits as sandbox/jail/job_frame.h
  // describes. Begins with the executable of the phase's command.
  Command command;
  // What it is then told to do; for a run, the request's args follow.
  std::vector<std::string> arguments;
  // It can't change its environment after its start, so a run with variables of
  // its own needs a fresh one.
  bool fixed_env = false;
  // Not for compilers: it reports when the program, or the analysis, is over,
  // see sandbox/jail/job_frame.h.
  bool tells_end = false;
  uint64_t idle_bytes = 0;  // what a waiting one takes
  uint32_t floor = 1;       // jails to keep at least while it is in use
  uint32_t ceiling = 1;     // and at most
  // Whether jails are kept from the daemon's start on, rather than from the
  // first use on; for the default profile and limits.
  bool from_start = false;
};

// A phase before the run that has a jail of its own.
struct CompilePhase {
  Command command;
  Command starter;  // words that come before the command's, if any
  // Paths and glob patterns below /workspace: what the run's jail gets.
  std::vector<std::string> artifacts;
  StringPairs env;
  LimitFloors limits;
  std::vector<std::string> out_of_memory;  // as in Language
  // Absent: results are never kept.
  std::optional<CompileCacheRules> cache;
  std::optional<PrestartRecipe> prestart;
};

// What is made once for each image, in jails that no user's code ever enters,
// and is then available to every run, read-only.
struct Preparation {
  // The language works without it too, only more slowly.
  bool optional = false;
  // It takes very little time, so it is done before the others.
  bool quick = false;
  StringPairs files;  // names below /workspace, with content
  // Each runs in a jail of its own, in this order. What one makes is in
  // ${prepared} for those after it.
  std::vector<Command> commands;
  std::vector<std::string> artifacts;  // as in CompilePhase; become ${prepared}
  StringPairs env;
  LimitFloors limits;
};

// An interpreter that has done its imports and waits, so that it can be forked
// into a jail for each run.
struct ZygoteKind {
  std::string name;                  // [a-z][a-z0-9]*, for example "lean"
  std::vector<std::string> preload;  // modules, which the script imports
  // Modules that a program has to name in order to be served by this kind; the
  // kind without any serves all others.
  std::vector<std::string> serves;
  // Absolute paths; in an image that lacks one, this kind doesn't exist.
  std::vector<std::string> needs;
  // How much of the pool's budget an idle jail of this kind takes.
  uint64_t idle_memory_bytes = uint64_t{4} << 20;
};
struct ZygoteRecipe {
  Command command;  // the interpreter; script and modules follow
  // Its native half: the name of a file in the spawner's directory.
  std::string library;
  // The dynamic linker loads the library, and the interpreter is started as for
  // a program. Otherwise the script is the program, and loads the library.
  bool inject = false;
  std::string script;  // the content of its files, in sequence
  std::vector<ZygoteKind> kinds;
};

// An interpreter that runs cells one after another and keeps their state
// (docs/sessions.md describes its protocol).
struct KernelRecipe {
  // The form in which it is told what to run.
  enum class Commands {
    kJson,   // one object per line
    kBytes,  // a line with lengths, then the bytes
  };
  // Starts it in a jail; it reports its events on descriptor 3.
  Command command;
  // The arguments for a zygote's runner instead; empty: a runner can't be one.
  Command runner_arguments;
  Commands commands = Commands::kJson;
};

// A program that reports for rules what the text of other programs names
// (facts.h). It runs in a jail before them, and never runs any of their code.
struct AnalyserRecipe {
  Command command;  // "${sources}" are the files that it reads
  // Instead of that, the compiler may report in the file `facts` below
  // /workspace, when these arguments come before the sources.
  Command compile_arguments;
  std::string facts;
  // The arguments for a zygote's runner instead; empty: a runner can't be one.
  Command runner_arguments;
  // A zygote's runner analyses a program itself before it runs the program.
  bool in_runner = false;
  // For `command`, in jails of profiles that have rules for the language.
  std::optional<PrestartRecipe> prestart;
  // If the analyser says that a text isn't a program, the language won't run it
  // either: both use the same parser.
  bool same_parser = false;
  // Name endings of files that the analyser reads in addition to the language's
  // own, and of those that a program can load but the analyser can't read.
  std::vector<std::string> reads;
  std::vector<std::string> opaque;
};

// A program that works wherever the language does: the daemon runs it to find
// out.
struct Canary {
  std::string code;
  std::string output;  // everything it prints to standard output
  // A program that has /bin/sh run the file kIsolationFile in its working
  // directory, and passes on its output; empty: there is none.
  std::string shell;
};
inline constexpr char kIsolationFile[] = "isolation.sh";

// One language, as described by its file in policy/data/languages/.
// placeholders.h says what commands and environments may refer to.
struct Language {
  std::string id;    // file name without ".json": [a-z][a-z0-9]*
  std::string name;  // for people, for example "Python"
  std::vector<std::string> aliases;
  std::vector<std::string> extensions;    // with the dot
  std::vector<std::string> interpreters;  // shebang basenames, "python3"
  std::string source_file;  // name below /workspace, for example "main.py"
  StringPairs files;  // written too, unless the request has one of that name
  std::optional<CompilePhase> compile;
  Command run;      // the request's args follow
  Command version;  // prints the runtime's version
  StringPairs env;  // of the run
  // What starts shells, and the program named as its id, in its sessions.
  Command session_command;
  // The lowest with which its runtime works; a profile's are raised to them.
  LimitFloors limits;
  uint32_t heap_percent = 60;      // of the memory limit, for ${heap_mib}
  std::string package;             // Debian package that provides it
  std::vector<std::string> needs;  // executables beside the commands' own
  std::optional<Preparation> prepare;
  std::optional<ZygoteRecipe> zygote;
  std::optional<PrestartRecipe> prestart;  // of the run
  std::optional<KernelRecipe> kernel;
  std::optional<AnalyserRecipe> analyser;
  std::optional<LibraryRecipe> libraries;  // absent: there are none to request
  std::optional<Canary> canary;
  // What its runtime writes to stderr when it gives up for want of memory.
  std::vector<std::string> out_of_memory;
  // Variables that act before user code can; who sets one needs a fresh start.
  std::vector<std::string> start_env;

  // Where the prepared files are in a jail; set by the code that prepares them.
  std::string prepared_dir;

  // Set by InImage: the image in which this language is, and where its root is
  // on the host. Empty: the host's own.
  std::string image;
  std::string image_root;
};

// All languages. Their ids and aliases are unique.
class LanguageTable {
 public:
  // Reads every *.json in `directory`, and the files that those name. Errors
  // name file and JSON pointer.
  static absl::StatusOr<LanguageTable> Load(const std::string& directory);
  static absl::StatusOr<LanguageTable> Create(std::vector<Language> languages);

  // Finds a language by id or alias, in upper or lower case; nullptr when there
  // is none. The pointer is valid as long as the table lives.
  const Language* Find(std::string_view id_or_alias) const;
  const std::vector<Language>& languages() const { return languages_; }
  // The languages in an image: InImage of each, or `languages()` for
  // kHostImage. nullptr when there is no such image.
  const std::vector<Language>* LanguagesIn(std::string_view image) const;
  // A language of this table, in one of the table's images.
  const Language& In(std::string_view image, const Language& language) const;
  // The names of all images, sorted and including kHostImage.
  std::vector<std::string> images() const;
  // The languages of all images, those of the host first.
  std::vector<const Language*> InAllImages() const;

  // Call only before the table is shared; so also the next two functions.
  void AddImage(const Image& image);
  // Sets prepared_dir for every language in every image.
  void SetPreparedDirs(
      const std::function<std::string(const Language&)>& directory_of);
  // Removes every kind of zygote for which `keep` is false, in every image.
  void KeepZygoteKinds(
      const std::function<bool(const Language&, const ZygoteKind&)>& keep);

 private:
  std::vector<Language> languages_;
  // The languages of images other than the host's, in the order of languages_.
  std::map<std::string, std::vector<Language>, std::less<>> images_;

  void ForEach(const std::function<void(Language&)>& change);
};

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LANGUAGE_LANGUAGE_H_
