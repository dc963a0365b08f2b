#include "policy/language/language.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "policy/language/language_check.h"
#include "policy/language/language_image.h"
#include "policy/text/json_reader.h"
#include "policy/text/paths.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

const std::vector<std::string> kNone;
constexpr absl::Duration kPreparingTime = absl::Minutes(10);
constexpr uint64_t kMaxPrestarted = 1000;

std::optional<PrestartRecipe> ReadPrestart(JsonObject& phase) {
  std::optional<JsonObject> object = phase.OptionalObject("prestart");
  if (!object) return std::nullopt;
  PrestartRecipe recipe;
  recipe.command = object->Strings("command");
  recipe.arguments = object->Strings("arguments", kNone);
  recipe.fixed_env = object->Bool("fixed_env", false);
  recipe.tells_end = object->Bool("tells_end", false);
  recipe.idle_bytes = object->ByteSize("idle_memory", {.min = 1});
  recipe.floor = static_cast<uint32_t>(
      object->Unsigned("floor", {.min = 1, .max = kMaxPrestarted}, 1));
  recipe.ceiling = static_cast<uint32_t>(object->Unsigned(
      "ceiling", {.min = recipe.floor, .max = kMaxPrestarted}, recipe.floor));
  recipe.from_start = object->Bool("from_start", false);
  return recipe;
}

std::optional<KernelRecipe> ReadKernel(JsonObject& root) {
  std::optional<JsonObject> object = root.OptionalObject("kernel");
  if (!object) return std::nullopt;
  KernelRecipe kernel;
  kernel.command = object->Strings("command");
  kernel.runner_arguments = object->Strings("runner_arguments", kNone);
  const std::string commands = object->String("commands", "json");
  if (commands == "bytes") {
    kernel.commands = KernelRecipe::Commands::kBytes;
  } else if (commands != "json") {
    object->AddError("commands", "expected \"json\" or \"bytes\"");
  }
  return kernel;
}

std::optional<AnalyserRecipe> ReadAnalyser(JsonObject& root) {
  std::optional<JsonObject> object = root.OptionalObject("analyser");
  if (!object) return std::nullopt;
  AnalyserRecipe analyser;
  analyser.compile_arguments = object->Strings("compile_arguments", kNone);
  if (analyser.compile_arguments.empty()) {
    analyser.command = object->Strings("command");
  } else {
    analyser.facts = object->String("facts");
  }
  analyser.runner_arguments = object->Strings("runner_arguments", kNone);
  analyser.in_runner = object->Bool("in_runner", false);
  analyser.prestart = ReadPrestart(*object);
  analyser.same_parser = object->Bool("same_parser", false);
  analyser.reads = object->Strings("reads", kNone);
  analyser.opaque = object->Strings("opaque", kNone);
  return analyser;
}

std::optional<Canary> ReadCanary(JsonObject& root) {
  std::optional<JsonObject> object = root.OptionalObject("canary");
  if (!object) return std::nullopt;
  Canary canary;
  canary.code = object->String("code");
  canary.output = object->String("stdout");
  canary.shell = object->String("shell", "");
  return canary;
}

std::optional<CompilePhase> ReadCompile(JsonObject& root) {
  std::optional<JsonObject> object = root.OptionalObject("compile");
  if (!object) return std::nullopt;
  CompilePhase compile;
  compile.command = object->Strings("command");
  compile.starter = object->Strings("starter", kNone);
  compile.artifacts = object->Strings("artifacts");
  compile.env = object->StringMap("env", JsonObject::StringPairs());
  if (auto limits = object->OptionalObject("limits")) {
    compile.limits = ReadLimitFloors(*limits);
  }
  compile.out_of_memory = object->Strings("out_of_memory", kNone);
  if (auto cache = object->OptionalObject("cache")) {
    compile.cache = CompileCacheRules{
        .reads = cache->Strings("reads", kNone),
        .not_with_text = cache->Strings("not_with_text", kNone),
        .not_with_files = cache->Strings("not_with_files", kNone)};
  }
  compile.prestart = ReadPrestart(*object);
  return compile;
}

// Reads a file in the directory of the language files.
std::string ReadCompanion(const std::string& directory, const std::string& name,
                          const std::string& path, JsonObject& files) {
  if (const absl::Status valid = ValidateRelativePath(path); !valid.ok()) {
    const absl::string_view message = valid.message();
    files.AddError(name, StdView(message));
    return "";
  }
  std::ifstream file(absl::StrCat(directory, "/", path), std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file),
                      std::istreambuf_iterator<char>()};
  if (!file.is_open() || content.empty()) {
    files.AddError(name,
                   absl::StrCat("can't read \"", absl::Utf8SafeCEscape(path),
                                "\" beside the language files"));
  }
  return content;
}

// Adds the times that a preparation's limits don't name. The first start takes
// long on a slow machine, but it must not fail.
void AddPreparingTime(LimitFloors& limits) {
  const uint64_t time =
      static_cast<uint64_t>(absl::ToInt64Nanoseconds(kPreparingTime));
  for (const LimitKind kind : {LimitKind::kWallTime, LimitKind::kCpuTime}) {
    if (std::none_of(limits.begin(), limits.end(),
                     [&](const auto& floor) { return floor.first == kind; })) {
      limits.emplace_back(kind, time);
    }
  }
}

std::optional<Preparation> ReadPrepare(const std::string& directory,
                                       JsonObject& root) {
  std::optional<JsonObject> object = root.OptionalObject("prepare");
  if (!object) return std::nullopt;
  Preparation prepare;
  prepare.optional = object->Bool("optional", false);
  prepare.quick = object->Bool("quick", false);
  const StringPairs companions = object->StringMap("files", StringPairs());
  if (!companions.empty()) {
    JsonObject files = object->Object("files");
    for (const auto& [name, path] : companions) {
      prepare.files.emplace_back(name,
                                 ReadCompanion(directory, name, path, files));
    }
  }
  prepare.commands = object->StringLists("commands");
  prepare.artifacts = object->Strings("artifacts");
  prepare.env = object->StringMap("env", StringPairs());
  if (auto limits = object->OptionalObject("limits")) {
    prepare.limits = ReadLimitFloors(*limits);
  }
  AddPreparingTime(prepare.limits);
  return prepare;
}

std::optional<ZygoteRecipe> ReadZygote(const std::string& directory,
                                       JsonObject& root) {
  std::optional<JsonObject> object = root.OptionalObject("zygote");
  if (!object) return std::nullopt;
  ZygoteRecipe recipe;
  recipe.command = object->Strings("command");
  recipe.library = object->String("library");
  recipe.inject = object->Bool("inject", false);
  for (const std::string& path : object->Strings("script")) {
    recipe.script += ReadCompanion(directory, "script", path, *object);
  }
  for (JsonObject& kind : object->Objects("kinds")) {
    recipe.kinds.push_back(
        {.name = kind.String("name"),
         .preload = kind.Strings("preload", kNone),
         .serves = kind.Strings("serves", kNone),
         .needs = kind.Strings("needs", kNone),
         .idle_memory_bytes = kind.ByteSize("idle_memory", {.min = 1 << 16},
                                            ZygoteKind().idle_memory_bytes)});
  }
  return recipe;
}

absl::StatusOr<Language> LoadLanguage(const std::string& directory,
                                      const std::string& id,
                                      const std::string& path) {
  absl::StatusOr<JsonDocument> document = JsonDocument::ReadFile(path);
  if (!document.ok()) return document.status();
  JsonObject root = document->root();
  Language language;
  language.id = id;
  language.name = root.String("name");
  language.aliases = root.Strings("aliases", kNone);
  language.extensions = root.Strings("extensions", kNone);
  language.interpreters = root.Strings("interpreters", kNone);
  language.source_file = root.String("source_file");
  language.files = root.StringMap("files", StringPairs());
  language.compile = ReadCompile(root);
  language.run = root.Strings("run");
  language.version = root.Strings("version");
  language.env = root.StringMap("env", StringPairs());
  language.session_command = root.Strings("session_command", kNone);
  if (auto limits = root.OptionalObject("limits")) {
    language.limits = ReadLimitFloors(*limits);
  }
  language.heap_percent = static_cast<uint32_t>(root.Unsigned(
      "heap_percent", {.min = 1, .max = 95}, language.heap_percent));
  language.package = root.String("package", "");
  language.needs = root.Strings("needs", kNone);
  language.prepare = ReadPrepare(directory, root);
  language.zygote = ReadZygote(directory, root);
  language.prestart = ReadPrestart(root);
  language.kernel = ReadKernel(root);
  language.analyser = ReadAnalyser(root);
  std::string script;
  language.libraries = ReadLibraryRecipe(root, script);
  if (language.libraries) {
    language.libraries->script =
        ReadCompanion(directory, "libraries/script", script, root);
  }
  language.canary = ReadCanary(root);
  language.out_of_memory = root.Strings("out_of_memory", kNone);
  language.start_env = root.Strings("start_env", kNone);
  if (absl::Status status = document->Finish(); !status.ok()) return status;
  for (const LanguageProblem& problem : CheckLanguage(language)) {
    root.AddErrorAt(problem.pointer, problem.message);
  }
  if (absl::Status status = document->Finish(); !status.ok()) return status;
  return language;
}

}  // namespace

absl::StatusOr<LanguageTable> LanguageTable::Load(
    const std::string& directory) {
  const auto files = ListJsonFiles(directory);
  if (!files.ok()) return files.status();
  std::vector<Language> languages;
  std::vector<std::string> errors;
  for (const auto& [id, path] : *files) {
    absl::StatusOr<Language> language = LoadLanguage(directory, id, path);
    if (language.ok()) {
      languages.push_back(*std::move(language));
    } else {
      errors.emplace_back(language.status().message());
    }
  }
  if (!errors.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(errors, "\n"));
  }
  absl::StatusOr<LanguageTable> table = Create(std::move(languages));
  if (!table.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(directory, ": ", table.status().message()));
  }
  return table;
}

absl::StatusOr<LanguageTable> LanguageTable::Create(
    std::vector<Language> languages) {
  std::vector<std::string> errors;
  for (const Language& language : languages) {
    for (const LanguageProblem& problem : CheckLanguage(language)) {
      errors.push_back(absl::StrCat("language ", language.id, ": ",
                                    problem.pointer, ": ", problem.message));
    }
  }
  for (std::string& error : CheckUnique(languages)) {
    errors.push_back(std::move(error));
  }
  if (!errors.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(errors, "\n"));
  }
  LanguageTable table;
  table.languages_ = std::move(languages);
  return table;
}

const Language* LanguageTable::Find(std::string_view id_or_alias) const {
  const std::string name = absl::AsciiStrToLower(AbslView(id_or_alias));
  for (const Language& language : languages_) {
    if (language.id == name ||
        std::find(language.aliases.begin(), language.aliases.end(), name) !=
            language.aliases.end()) {
      return &language;
    }
  }
  return nullptr;
}

const std::vector<Language>* LanguageTable::LanguagesIn(
    std::string_view image) const {
  if (image == kHostImage) return &languages_;
  const auto found = images_.find(image);
  return found == images_.end() ? nullptr : &found->second;
}

const Language& LanguageTable::In(std::string_view image,
                                  const Language& language) const {
  const std::vector<Language>* languages = LanguagesIn(image);
  if (languages == nullptr) return language;
  const auto found =
      std::find_if(languages->begin(), languages->end(),
                   [&](const Language& l) { return l.id == language.id; });
  return found == languages->end() ? language : *found;
}

std::vector<std::string> LanguageTable::images() const {
  std::vector<std::string> names = {std::string(kHostImage)};
  for (const auto& [name, languages] : images_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

void LanguageTable::AddImage(const Image& image) {
  std::vector<Language>& languages = images_[image.name];
  languages.clear();
  for (const Language& language : languages_) {
    languages.push_back(InImage(language, image));
  }
}

std::vector<const Language*> LanguageTable::InAllImages() const {
  std::vector<const Language*> all;
  for (const Language& language : languages_) all.push_back(&language);
  for (const auto& [name, languages] : images_) {
    for (const Language& language : languages) all.push_back(&language);
  }
  return all;
}

void LanguageTable::ForEach(const std::function<void(Language&)>& change) {
  std::for_each(languages_.begin(), languages_.end(), change);
  for (auto& [name, languages] : images_) {
    std::for_each(languages.begin(), languages.end(), change);
  }
}

void LanguageTable::SetPreparedDirs(
    const std::function<std::string(const Language&)>& directory_of) {
  ForEach([&](Language& language) {
    language.prepared_dir = directory_of(language);
  });
}

void LanguageTable::KeepZygoteKinds(
    const std::function<bool(const Language&, const ZygoteKind&)>& keep) {
  ForEach([&](Language& language) {
    if (!language.zygote) return;
    std::erase_if(language.zygote->kinds, [&](const ZygoteKind& kind) {
      return !keep(language, kind);
    });
  });
}

}  // namespace sandglass::policy
