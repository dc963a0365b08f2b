#include "policy/language/language_check.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "policy/language/placeholders.h"
#include "policy/text/names.h"
#include "policy/text/paths.h"

namespace sandglass::policy {
namespace {

// Aliases may have the usual spelling: "c++", "objective-c", "f#".
bool IsAlias(const std::string& text) {
  return !text.empty() && text.size() <= 32 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return absl::ascii_islower(byte) || absl::ascii_isdigit(byte) ||
                  c == '+' || c == '#' || c == '-' || c == '.';
         });
}

bool IsFileName(const std::string& text) {
  return text.find('/') == std::string::npos && ValidateRelativePath(text).ok();
}

bool IsHomePath(const std::string& path) {
  return absl::StartsWith(path, "/home/") || absl::StartsWith(path, "/root/");
}

std::string At(absl::string_view pointer, size_t index) {
  return absl::StrCat(pointer, "/", index);
}

bool NamesSource(const Command& command) {
  return std::any_of(command.begin(), command.end(), [](const auto& word) {
    return absl::StrContains(word, "${source");
  });
}

// The longest program of a canary, in bytes.
constexpr size_t kMaxCanaryCode = 64 * 1024;
constexpr size_t kMaxCanaryOutput = 4096;

// Collects everything that is wrong with one language.
class Checker {
 public:
  explicit Checker(const Language& language) : language_(language) {}

  std::vector<LanguageProblem> Run() {
    CheckNames();
    CheckFiles("/files", language_.files);
    CheckRun();
    if (language_.compile) CheckCompile(*language_.compile);
    if (language_.prepare) CheckPrepare(*language_.prepare);
    if (language_.zygote) CheckZygote(*language_.zygote);
    if (language_.prestart) {
      CheckPrestart("/prestart", *language_.prestart, language_.run);
      if (language_.zygote) {
        Add("/prestart", "a language has either this or \"zygote\"");
      }
    }
    if (language_.compile && language_.compile->prestart) {
      CheckPrestart("/compile/prestart", *language_.compile->prestart,
                    language_.compile->command);
      if (language_.compile->prestart->tells_end) {
        Add("/compile/prestart/tells_end",
            "is of no use: what was made is taken when the compiler has ended");
      }
    }
    if (language_.kernel) CheckKernel(*language_.kernel);
    if (language_.analyser) CheckAnalyser(*language_.analyser);
    if (language_.canary) CheckCanary(*language_.canary);
    CheckCommand("/version", language_.version, PlaceholderUse::kWithoutCode);
    CheckEnv("/env", language_.env, PlaceholderUse::kWithSource);
    if (!language_.session_command.empty()) {
      CheckCommand("/session_command", language_.session_command,
                   PlaceholderUse::kWithoutCode);
    }
    for (size_t i = 0; i < language_.needs.size(); ++i) {
      CheckImagePath(At("/needs", i), language_.needs[i]);
    }
    if (language_.heap_percent < 1 || language_.heap_percent > 95) {
      Add("/heap_percent", "takes 1 to 95, of the memory limit");
    }
    CheckWords("/out_of_memory", language_.out_of_memory);
    for (size_t i = 0; i < language_.start_env.size(); ++i) {
      if (!IsEnvName(language_.start_env[i])) {
        Add(At("/start_env", i), "names match [A-Za-z_][A-Za-z0-9_]*");
      }
    }
    return std::move(problems_);
  }

 private:
  void Add(std::string pointer, std::string message) {
    problems_.push_back({std::move(pointer), std::move(message)});
  }

  void CheckNames() {
    if (!IsLanguageId(language_.id)) {
      Add("/", absl::StrCat("the id \"", absl::Utf8SafeCEscape(language_.id),
                            "\" (the file's name) has to match "
                            "[a-z][a-z0-9]*, at most 32 characters"));
    }
    if (language_.name.empty()) Add("/name", "is empty");
    for (size_t i = 0; i < language_.aliases.size(); ++i) {
      if (!IsAlias(language_.aliases[i])) {
        Add(At("/aliases", i),
            "aliases match [a-z0-9+#.-]+, at most 32 characters");
      }
    }
    for (size_t i = 0; i < language_.extensions.size(); ++i) {
      const std::string& extension = language_.extensions[i];
      if (extension.size() < 2 || extension[0] != '.' ||
          !IsFileName(extension)) {
        Add(At("/extensions", i), "expected an extension such as \".py\"");
      }
    }
    for (size_t i = 0; i < language_.interpreters.size(); ++i) {
      if (!IsFileName(language_.interpreters[i])) {
        Add(At("/interpreters", i), "expected a name such as \"python3\"");
      }
    }
    if (!IsFileName(language_.source_file)) {
      Add("/source_file", "expected a name such as \"main.py\"");
    }
  }

  void CheckFiles(absl::string_view pointer, const StringPairs& files) {
    for (const auto& [name, content] : files) {
      const std::string place =
          absl::StrCat(pointer, "/", absl::Utf8SafeCEscape(name));
      if (const absl::Status valid = ValidateRelativePath(name); !valid.ok()) {
        Add(place, std::string(valid.message()));
      } else if (name == language_.source_file) {
        Add(place, "is where the program goes");
      }
    }
  }

  void CheckCanary(const Canary& canary) {
    if (canary.code.empty() || canary.code.size() > kMaxCanaryCode) {
      Add("/canary/code",
          absl::StrCat("takes a program of 1 to ", kMaxCanaryCode, " bytes"));
    }
    if (canary.shell.size() > kMaxCanaryCode) {
      Add("/canary/shell", absl::StrCat("takes a program of at most ",
                                        kMaxCanaryCode, " bytes"));
    }
    // Without output, nobody could see that it has worked.
    if (canary.output.empty() || canary.output.size() > kMaxCanaryOutput) {
      Add("/canary/stdout", absl::StrCat("takes what the program prints, 1 to ",
                                         kMaxCanaryOutput, " bytes"));
    }
  }

  void CheckKernel(const KernelRecipe& kernel) {
    CheckCommand("/kernel/command", kernel.command, PlaceholderUse::kAhead);
    if (!kernel.runner_arguments.empty() && !language_.zygote) {
      Add("/kernel/runner_arguments", "is for languages with a \"zygote\"");
    }
  }

  void CheckAnalyser(const AnalyserRecipe& analyser) {
    if (!analyser.compile_arguments.empty()) {
      if (!language_.compile) {
        Add("/analyser/compile_arguments", "is for languages with a compiler");
      }
      if (const absl::Status valid = ValidateRelativePath(analyser.facts);
          !valid.ok()) {
        Add("/analyser/facts", std::string(valid.message()));
      }
      if (analyser.prestart) {
        Add("/analyser/prestart", "is the compiler's, where that one tells");
      }
      return;
    }
    CheckCommand("/analyser/command", analyser.command,
                 PlaceholderUse::kCommand);
    if (!NamesSource(analyser.command)) {
      Add("/analyser/command",
          "no word has \"${sources}\", so nothing would be read");
    }
    if (analyser.prestart) CheckAnalysersPrestart(*analyser.prestart);
    const bool by_runner =
        analyser.in_runner || !analyser.runner_arguments.empty();
    if (by_runner && !language_.zygote) {
      Add("/analyser",
          "\"in_runner\" and \"runner_arguments\" are for "
          "languages with a \"zygote\"");
    }
  }

  void CheckAnalysersPrestart(const PrestartRecipe& recipe) {
    CheckPrestart("/analyser/prestart", recipe, language_.analyser->command);
    if (!NamesSource(recipe.arguments)) {
      Add("/analyser/prestart/arguments",
          "no word has \"${sources}\", so nothing would be read");
    }
    if (recipe.fixed_env) {
      Add("/analyser/prestart/fixed_env",
          "is of no use: no request says what an analyser's environment is");
    }
  }

  void CheckRun() {
    if (language_.run.empty()) return Add("/run", "is empty");
    CheckCommand("/run", language_.run, PlaceholderUse::kCommand);
    if (!language_.compile && !NamesSource(language_.run)) {
      Add("/run",
          "no word has \"${source}\", so the program would not be read");
    }
  }

  void CheckCompile(const CompilePhase& compile) {
    CheckCommand("/compile/command", compile.command, PlaceholderUse::kCommand);
    if (!compile.starter.empty()) {
      CheckCommand("/compile/starter", compile.starter,
                   PlaceholderUse::kWithoutCode);
    }
    // Some compilers are given a directory instead.
    if (!compile.command.empty() && !NamesSource(compile.command) &&
        std::find(compile.command.begin(), compile.command.end(), ".") ==
            compile.command.end()) {
      Add("/compile/command",
          "no word has \"${source}\" or is \".\", so the program would not be "
          "read");
    }
    CheckArtifacts("/compile/artifacts", compile.artifacts);
    CheckEnv("/compile/env", compile.env, PlaceholderUse::kWithSource);
    CheckWords("/compile/out_of_memory", compile.out_of_memory);
    if (compile.cache) CheckCache(*compile.cache);
  }

  void CheckCache(const CompileCacheRules& rules) {
    for (size_t i = 0; i < rules.reads.size(); ++i) {
      const std::string& path = rules.reads[i];
      const std::string place = At("/compile/cache/reads", i);
      if (!absl::StartsWith(path, "/usr/")) {
        Add(place,
            "expected a path below /usr; of the rest jails have nothing that "
            "changes while the server runs");
      } else if (path.find('\0') != std::string::npos) {
        Add(place, "has a NUL character");
      }
    }
    // An empty text would be found in every file.
    CheckNotEmpty("/compile/cache/not_with_text", rules.not_with_text);
    CheckNotEmpty("/compile/cache/not_with_files", rules.not_with_files);
  }

  void CheckNotEmpty(absl::string_view pointer,
                     const std::vector<std::string>& texts) {
    for (size_t i = 0; i < texts.size(); ++i) {
      if (texts[i].empty()) Add(At(pointer, i), "is empty");
    }
  }

  void CheckPrepare(const Preparation& prepare) {
    CheckFiles("/prepare/files", prepare.files);
    if (prepare.commands.empty()) Add("/prepare/commands", "is empty");
    for (size_t i = 0; i < prepare.commands.size(); ++i) {
      CheckCommand(At("/prepare/commands", i), prepare.commands[i],
                   PlaceholderUse::kWithoutCode);
    }
    CheckArtifacts("/prepare/artifacts", prepare.artifacts);
    CheckEnv("/prepare/env", prepare.env, PlaceholderUse::kWithoutCode);
  }

  void CheckZygote(const ZygoteRecipe& zygote) {
    CheckCommand("/zygote/command", zygote.command,
                 PlaceholderUse::kWithoutCode);
    Command run = zygote.command;
    run.emplace_back("${source}");
    if (language_.run != run) {
      Add("/zygote/command",
          "with \"${source}\" behind it this has to be \"run\": both ways of "
          "starting a program have to be the same to it");
    }
    if (!IsFileName(zygote.library)) {
      Add("/zygote/library", "takes the name of a file beside the spawner");
    }
    if (zygote.kinds.empty()) Add("/zygote/kinds", "is empty");
    if (language_.compile) {
      Add("/zygote", "serves interpreters; this language has \"compile\"");
    }
    std::set<std::string> names;
    size_t general = 0;
    for (size_t i = 0; i < zygote.kinds.size(); ++i) {
      const ZygoteKind& kind = zygote.kinds[i];
      const std::string place = At("/zygote/kinds", i);
      if (!IsLanguageId(kind.name)) {
        Add(absl::StrCat(place, "/name"),
            "names match [a-z][a-z0-9]*, at most 32 characters");
      } else if (!names.insert(kind.name).second) {
        Add(absl::StrCat(place, "/name"), "is there twice");
      }
      for (size_t need = 0; need < kind.needs.size(); ++need) {
        CheckImagePath(At(absl::StrCat(place, "/needs"), need),
                       kind.needs[need]);
      }
      if (kind.serves.empty() && ++general > 1) {
        Add(absl::StrCat(place, "/serves"),
            "only one kind can be for programs that name no module");
      }
    }
  }

  void CheckPrestart(const std::string& pointer, const PrestartRecipe& recipe,
                     const Command& phase) {
    CheckCommand(absl::StrCat(pointer, "/command"), recipe.command,
                 PlaceholderUse::kAhead);
    if (!recipe.command.empty() && !phase.empty() &&
        recipe.command.front() != phase.front()) {
      Add(absl::StrCat(pointer, "/command/0"),
          "has to be the executable that runs when none waits");
    }
    for (size_t i = 0; i < recipe.arguments.size(); ++i) {
      CheckText(At(absl::StrCat(pointer, "/arguments"), i), recipe.arguments[i],
                PlaceholderUse::kCommand);
    }
  }

  void CheckCommand(const std::string& pointer, const Command& command,
                    PlaceholderUse use) {
    if (command.empty()) {
      Add(pointer, "is empty");
      return;
    }
    CheckImagePath(At(pointer, 0), command[0]);
    for (size_t i = 0; i < command.size(); ++i) {
      CheckText(At(pointer, i), command[i], use);
    }
  }

  void CheckImagePath(const std::string& pointer, const std::string& path) {
    if (!absl::StartsWith(path, "/")) {
      Add(pointer, absl::StrCat("\"", absl::Utf8SafeCEscape(path),
                                "\" is no absolute path"));
    } else if (IsHomePath(path)) {
      Add(pointer,
          "is under a user's home, which no jail has; name one below /usr");
    }
  }

  void CheckText(const std::string& pointer, const std::string& text,
                 PlaceholderUse use) {
    if (text.find('\0') != std::string::npos) {
      Add(pointer, "has a NUL character");
    }
    if (!language_.prepare && absl::StrContains(text, "${prepared}")) {
      Add(pointer, "nothing is prepared: there is no \"prepare\"");
    }
    if (std::string problem = CheckPlaceholders(text, use); !problem.empty()) {
      Add(pointer, std::move(problem));
    }
  }

  void CheckWords(absl::string_view pointer,
                  const std::vector<std::string>& words) {
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i].size() < 8) {
        Add(At(pointer, i),
            "takes at least 8 characters, so that it is not met by chance");
      }
    }
  }

  void CheckArtifacts(const std::string& pointer,
                      const std::vector<std::string>& artifacts) {
    if (artifacts.empty()) Add(pointer, "is empty; name what is made");
    for (size_t i = 0; i < artifacts.size(); ++i) {
      if (const absl::Status valid = ValidateGlob(artifacts[i]); !valid.ok()) {
        Add(At(pointer, i), std::string(valid.message()));
      }
    }
  }

  void CheckEnv(absl::string_view pointer, const StringPairs& env,
                PlaceholderUse use) {
    for (const auto& [name, value] : env) {
      const std::string place =
          absl::StrCat(pointer, "/", absl::Utf8SafeCEscape(name));
      if (!IsEnvName(name)) {
        Add(place, "names match [A-Za-z_][A-Za-z0-9_]*");
      }
      CheckText(place, value, use);
    }
  }

  const Language& language_;
  std::vector<LanguageProblem> problems_;
};

}  // namespace

std::vector<LanguageProblem> CheckLanguage(const Language& language) {
  return Checker(language).Run();
}

// Ids and aliases have one name space; extensions and interpreters have one
// each. A name may stand for only one language.
std::vector<std::string> CheckUnique(const std::vector<Language>& languages) {
  std::vector<std::string> errors;
  std::map<std::pair<std::string, std::string>, std::string> owners;
  const auto claim = [&](const Language& language, const char* space,
                         const std::string& name, const std::string& pointer) {
    const auto [owner, added] = owners.try_emplace({space, name}, language.id);
    if (added) return;
    errors.push_back(absl::StrCat("language ", language.id, ": ", pointer,
                                  ": \"", absl::Utf8SafeCEscape(name),
                                  "\" already stands for ", owner->second));
  };
  // Ids first, so that an alias can't take another language's id.
  for (const Language& language : languages) {
    claim(language, "name", language.id, "/");
  }
  for (const Language& language : languages) {
    for (size_t i = 0; i < language.aliases.size(); ++i) {
      claim(language, "name", language.aliases[i], At("/aliases", i));
    }
    for (size_t i = 0; i < language.extensions.size(); ++i) {
      claim(language, "extension", language.extensions[i],
            At("/extensions", i));
    }
    for (size_t i = 0; i < language.interpreters.size(); ++i) {
      claim(language, "interpreter", language.interpreters[i],
            At("/interpreters", i));
    }
  }
  return errors;
}

}  // namespace sandglass::policy
