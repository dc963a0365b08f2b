#include "server/job/job_builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "policy/language/placeholders.h"
#include "policy/language/zygote_kind.h"
#include "policy/libraries/library_policy.h"
#include "sandbox/wire/jail_layout.h"
#include "server/job/inspection.h"
#include "server/job/jail_network.h"
#include "server/job/run_id.h"

namespace sandglass::server {
namespace {

using policy::StringPairs;

// Bounds for an analyser that works in a jail of its own.
constexpr absl::Duration kLongestLook = absl::Seconds(10);
constexpr uint64_t kMaxLookOutput = 2 * policy::kMaxFactsBytes;

StringPairs Expanded(StringPairs env, const policy::PlaceholderValues& values) {
  for (auto& [name, value] : env) value = policy::Expand(value, values);
  return env;
}

// The program's own file and those of the request that are in its language.
std::vector<std::string> SourcesOf(const policy::Language& language,
                                   const v1::RunCodeRequest& request) {
  std::vector<std::string> sources = {language.source_file};
  for (const v1::InputFile& file : request.files()) {
    if (EndsWithOneOf(file.path(), language.extensions)) {
      // With this prefix no file name can be mistaken for an option.
      sources.push_back(absl::StrCat("./", file.path()));
    }
  }
  return sources;
}

// How long it takes to make an interpreter ready depends on the processors of
// its jail. Making one in advance for runs that ask for few processors would
// keep the others' jails waiting.
bool TooSlowToWait(const policy::Limits& limits,
                   const policy::Profile& profile) {
  return uint64_t{2} * limits.cpu_millis < profile.limits.cpu_millis;
}

// A compiler's command line with other words put before its sources.
policy::Command BeforeSources(policy::Command words,
                              const policy::Command& others) {
  const auto sources = std::find(words.begin(), words.end(), "${sources}");
  words.insert(sources, others.begin(), others.end());
  return words;
}

policy::Command Started(policy::Command starter,
                        const policy::Command& command) {
  starter.insert(starter.end(), command.begin(), command.end());
  return starter;
}

CompileJob MakeCompileJob(const policy::Language& language,
                          const policy::Profile& profile,
                          const policy::Limits& limits,
                          policy::PlaceholderValues values, bool tells_facts) {
  const policy::CompilePhase& phase = *language.compile;
  values.limits = limits;
  values.jvm_network.clear();
  policy::Command more;
  if (tells_facts) more = language.analyser->compile_arguments;
  CompileJob compile;
  compile.template_name = profile.jail_template;
  compile.argv = policy::ExpandCommand(
      Started(phase.starter, BeforeSources(phase.command, more)), values);
  compile.env = BaseEnvironment();
  Overlay(Expanded(phase.env, values), compile.env);
  compile.artifacts = phase.artifacts;
  compile.limits = limits;
  compile.out_of_memory = phase.out_of_memory;
  if (phase.prestart && !TooSlowToWait(limits, profile)) {
    compile.prestart = PrestartKindName(language, policy::Phase::kCompile);
    compile.prestart_argv = policy::ExpandCommand(
        BeforeSources(phase.prestart->arguments, more), values);
  }
  if (tells_facts) compile.artifacts.push_back(language.analyser->facts);
  return compile;
}

// Absent when the language or the profile doesn't want caching.
std::optional<CompileCaching> MakeCaching(const policy::Language& language,
                                          const policy::Profile& profile) {
  if (!language.compile->cache ||
      profile.compile_cache == policy::CompileSharing::kOff) {
    return std::nullopt;
  }
  CompileCaching caching;
  caching.language = language.id;
  caching.image = language.image;
  caching.by_caller = profile.compile_cache != policy::CompileSharing::kShared;
  caching.scope =
      caching.by_caller ? absl::StrCat("profile ", profile.name) : "shared";
  caching.executables = language.needs;
  for (const policy::Command* words :
       {&language.compile->starter, &language.compile->command}) {
    if (!words->empty()) caching.executables.push_back(words->front());
  }
  caching.rules = *language.compile->cache;
  return caching;
}

// Whether no interpreter that has already started will do, since what the run
// asks for takes effect when one starts.
bool NeedsFreshInterpreter(const policy::Language& language,
                           const policy::Profile& profile,
                           const StringPairs& wished, bool with_libraries,
                           const policy::Limits& limits) {
  const auto matters = [&](const auto& variable) {
    return std::ranges::count(language.start_env, variable.first) > 0;
  };
  return (with_libraries && language.libraries->fresh) ||
         TooSlowToWait(limits, profile) ||
         std::ranges::any_of(wished, matters) ||
         std::ranges::any_of(profile.env, matters);
}

// What the request brings and wants to have back.
void MoveInputs(v1::RunCodeRequest& request, Job& job) {
  job.code = std::move(*request.mutable_code());
  job.stdin_data = std::move(*request.mutable_stdin());
  job.fetch.assign(request.fetch().begin(), request.fetch().end());
  for (v1::InputFile& file : *request.mutable_files()) {
    job.files.push_back({std::move(*file.mutable_path()),
                         std::move(*file.mutable_content()),
                         file.executable()});
  }
}

// Absent when the profile lets the run have no libraries.
std::optional<policy::Ecosystem> WhatItCanWant(const policy::Language& language,
                                               const policy::Profile& profile) {
  const auto ecosystem = policy::EcosystemOfLanguage(language.id);
  return ecosystem && language.libraries && profile.libraries != nullptr &&
                 profile.libraries->rules.count(*ecosystem) > 0
             ? ecosystem
             : std::nullopt;
}

// Without what the request and the network make of them.
policy::PlaceholderValues ValuesOf(const policy::Language& language,
                                   const policy::Limits& limits) {
  return {.source = language.source_file,
          .prepared = language.prepared_dir,
          .limits = limits,
          .heap_percent = language.heap_percent};
}

// Precondition: the session has a language.
policy::PlaceholderValues SessionValues(const SessionSpec& spec) {
  policy::PlaceholderValues values = ValuesOf(*spec.language, spec.limits);
  values.jvm_network = JvmNetwork(*spec.profile);
  return values;
}

// A job with what all programs in the language under the profile have in
// common.
Job MakeUserJob(const policy::Language& language,
                const policy::Profile& profile, const policy::Limits& limits) {
  Job job;
  job.template_name = profile.run_template();
  job.redactor = profile.redactor;
  job.has_network = profile.network != nullptr;
  job.limits = limits;
  job.out_of_memory = language.out_of_memory;
  job.can_want = WhatItCanWant(language, profile);
  job.library_offer = OfferTo(&language, profile);
  return job;
}

}  // namespace

policy::LibraryOffer OfferTo(const policy::Language* language,
                             const policy::Profile& profile) {
  if (language != nullptr && WhatItCanWant(*language, profile)) {
    return policy::LibraryOffer::kToIt;
  }
  return profile.libraries != nullptr && !profile.libraries->rules.empty()
             ? policy::LibraryOffer::kToOthers
             : policy::LibraryOffer::kNothing;
}

policy::StringPairs SessionEnvironment(const SessionSpec& spec) {
  policy::StringPairs env = BaseEnvironment();
  Overlay(LimitEnvironment(spec.limits), env);
  Overlay(NetworkEnvironment(*spec.profile), env);
  if (spec.language != nullptr) {
    Overlay(Expanded(spec.language->env, SessionValues(spec)), env);
    if (spec.libraries) Overlay(spec.language->libraries->run_env, env);
  }
  Overlay(spec.profile->env, env);
  Overlay(spec.env, env);
  return env;
}

Job MakeJob(const policy::Language& language,
            const policy::SharedProfile& shared, const PhaseLimits& limits,
            v1::RunCodeRequest&& request,
            std::optional<LibraryRequest> libraries) {
  const policy::Profile& profile = *shared;
  policy::PlaceholderValues values = ValuesOf(language, limits.run);
  values.sources = SourcesOf(language, request);
  values.jvm_network = JvmNetwork(profile);

  Job job = MakeUserJob(language, profile, limits.run);
  job.source_file = language.source_file;
  job.env = BaseEnvironment();
  Overlay(LimitEnvironment(limits.run), job.env);
  Overlay(NetworkEnvironment(profile), job.env);
  Overlay(Expanded(language.env, values), job.env);
  const bool with_libraries = libraries.has_value();
  job.libraries = std::move(libraries);
  if (with_libraries) Overlay(language.libraries->run_env, job.env);
  Overlay(profile.env, job.env);
  // A protobuf map has no order of its own, so the variables are sorted.
  StringPairs wished(request.env().begin(), request.env().end());
  std::sort(wished.begin(), wished.end());
  Overlay(wished, job.env);
  job.argv = policy::ExpandCommand(language.run, values);
  const auto add_arguments = [&](policy::Command& words) {
    words.insert(words.end(), request.args().begin(), request.args().end());
  };
  add_arguments(job.argv);
  // The version of a module that a zygote kind has already imported might
  // differ from the one in the requested libraries.
  const policy::ZygoteKind* kind =
      policy::ChooseZygoteKind(language, with_libraries ? "" : request.code());
  const bool fresh = NeedsFreshInterpreter(language, profile, wished,
                                           with_libraries, limits.run);
  if (kind != nullptr && !fresh) {
    job.zygote = policy::ZygoteName(language, *kind);
    job.runner_argv = {language.source_file};
    add_arguments(job.runner_argv);
  }
  if (language.prestart && !fresh &&
      !(language.prestart->fixed_env && !request.env().empty())) {
    job.prestart = PrestartKindName(language, policy::Phase::kRun);
    job.prestart_tells_end = language.prestart->tells_end;
    job.prestart_argv =
        policy::ExpandCommand(language.prestart->arguments, values);
    add_arguments(job.prestart_argv);
  }
  if (request.rich_results()) {
    job.rich = true;
    job.cell_args.assign(request.args().begin(), request.args().end());
    job.target = OwnKernel{{.language = &language,
                            .profile = shared,
                            .limits = limits.run,
                            .env = wished,
                            .libraries = job.libraries}};
  }
  MoveInputs(request, job);
  for (const auto& own : language.files) {
    const bool brought = std::ranges::any_of(
        job.files,
        [&](const Job::File& file) { return file.path == own.first; });
    if (brought) continue;
    job.files.push_back(
        {.path = own.first, .content = own.second, .of_language = true});
  }
  job.inspection = MakeInspection(shared, language, job);
  // A kernel compiles by itself; what rules want to know, the compiler says.
  if (language.compile && (!job.rich || NeedsAnalyser(job))) {
    job.compile.emplace();  // says only that there is one
    job.compile = MakeCompileJob(language, profile, limits.compile, values,
                                 LooksInCompiler(job));
    if (with_libraries) {
      Overlay(language.libraries->compile_env, job.compile->env);
      if (language.libraries->fresh) job.compile->prestart.clear();
    }
    job.compile->caching = MakeCaching(language, profile);
  }
  return job;
}

Job MakeCellJob(const SessionSpec& spec, const policy::Limits& limits,
                SessionPlace place, v1::RunCodeRequest&& request) {
  Job job = MakeUserJob(*spec.language, *spec.profile, limits);
  MoveInputs(request, job);
  job.target = SessionCell{std::move(place)};
  job.rich = true;
  job.cell_args.assign(request.args().begin(), request.args().end());
  job.inspection = MakeInspection(spec.profile, *spec.language, job);
  return job;
}

Job MakeProgramJob(const SessionSpec& spec, const PhaseLimits& limits,
                   SessionPlace place, v1::RunCodeRequest&& request) {
  for (const auto& [name, value] : spec.env) {
    (*request.mutable_env())[name] = value;
  }
  Job job = MakeJob(*spec.language, spec.profile, limits, std::move(request),
                    spec.libraries);
  job.target = SessionProgram{std::move(place)};
  job.zygote.clear();
  job.prestart.clear();
  return job;
}

Job MakeKernelJob(const SessionSpec& spec, const std::string& code) {
  const policy::Language& language = *spec.language;
  Job job;
  job.template_name = spec.profile->run_template();
  job.limits = spec.limits;
  job.env = SessionEnvironment(spec);
  job.argv =
      policy::ExpandCommand(language.kernel->command, SessionValues(spec));
  job.keeps_stdin = true;
  const policy::ZygoteKind* kind =
      policy::ChooseZygoteKind(language, spec.libraries ? "" : code);
  if (kind != nullptr && !language.kernel->runner_arguments.empty() &&
      !NeedsFreshInterpreter(language, *spec.profile, spec.env,
                             spec.libraries.has_value(), spec.limits)) {
    job.zygote = policy::ZygoteName(language, *kind);
    job.runner_argv = language.kernel->runner_arguments;
  }
  return job;
}

sandbox::ZygoteOptions MakeZygote(const policy::Language& language,
                                  const policy::ZygoteKind& kind) {
  sandbox::ZygoteOptions zygote;
  zygote.kind = policy::ZygoteName(language, kind);
  policy::PlaceholderValues values;
  values.source = language.source_file;
  values.limits.cpu_millis = 1000;
  zygote.argv = language.zygote->inject
                    ? policy::ExpandCommand(language.run, values)
                    : language.zygote->command;
  zygote.argv.emplace_back(sandbox::kZygoteScript);
  zygote.argv.insert(zygote.argv.end(), kind.preload.begin(),
                     kind.preload.end());
  // The variables that take effect when an interpreter starts, as every run
  // would set them. They must hold nothing secret, since each runner can read
  // them.
  StringPairs env = BaseEnvironment();
  Overlay(Expanded(language.env, values), env);
  if (language.zygote->inject) {
    env.emplace_back("LD_PRELOAD", sandbox::kZygoteLibrary);
  }
  zygote.env = AsWords(env);
  zygote.script = language.zygote->script;
  return zygote;
}

bool AnalyserWaits(const policy::Language& language,
                   const policy::Profile& profile) {
  return language.analyser && language.analyser->prestart &&
         policy::AllowsLanguage(profile, language.id) &&
         policy::NeedsFacts(profile.rules, language.id);
}

std::string PrestartKindName(const policy::Language& language,
                             policy::Phase phase) {
  return absl::StrCat(language.id, phase == policy::Phase::kRun ? "-run"
                                   : phase == policy::Phase::kCompile
                                       ? "-compile"
                                       : "-analyse");
}

sandbox::ProgramSpec MakePrestart(const policy::Language& language,
                                  policy::Phase phase,
                                  const policy::Profile& profile,
                                  const policy::Limits& limits) {
  const policy::PrestartRecipe& recipe =
      phase == policy::Phase::kRun       ? *language.prestart
      : phase == policy::Phase::kCompile ? *language.compile->prestart
                                         : *language.analyser->prestart;
  policy::PlaceholderValues values = ValuesOf(language, limits);
  // The environment, as every run would set it.
  StringPairs env = BaseEnvironment();
  if (phase == policy::Phase::kRun) {
    values.jvm_network = JvmNetwork(profile);
    Overlay(LimitEnvironment(limits), env);
    Overlay(NetworkEnvironment(profile), env);
  }
  Overlay(Expanded(phase == policy::Phase::kCompile ? language.compile->env
                                                    : language.env,
                   values),
          env);
  if (phase == policy::Phase::kRun) Overlay(profile.env, env);
  sandbox::ProgramSpec program;
  program.argv = policy::ExpandCommand(recipe.command, values);
  program.env = AsWords(env);
  return program;
}

Job MakeToolJob(const policy::Language& language,
                const policy::Profile& profile,
                const policy::LimitFloors& floors,
                const policy::Command& command,
                const policy::StringPairs& env) {
  Job job;
  job.run_id = NewRunId();
  job.template_name = profile.jail_template;
  job.limits = profile.limits;
  policy::RaiseTo(floors, job.limits);
  const policy::PlaceholderValues values = ValuesOf(language, job.limits);
  job.argv = policy::ExpandCommand(command, values);
  job.env = BaseEnvironment();
  Overlay(Expanded(env, values), job.env);
  return job;
}

void UseJailsOf(const policy::SharedProfile& profile,
                const policy::Language& language, Job& job) {
  job.template_name = profile->jail_template;
  if (job.inspection != nullptr) job.inspection->jails = profile;
  if (!job.compile) return;
  job.compile->template_name = profile->jail_template;
  job.compile->limits = profile->limits;
  policy::RaiseTo(language.compile->limits, job.compile->limits);
}

Job MakeLookJob(const Job& job) {
  const Inspection& inspection = *job.inspection;
  const policy::Language& language = *inspection.language;
  const policy::AnalyserRecipe& analyser = *language.analyser;
  Job look = MakeToolJob(language, *inspection.jails, language.limits, {},
                         language.env);
  look.run_id = job.run_id;
  look.phase = policy::Phase::kAnalysis;
  look.taker = job.taker;
  look.limits.wall_time = std::min(look.limits.wall_time, kLongestLook);
  look.limits.cpu_time = std::min(look.limits.cpu_time, kLongestLook);
  look.limits.output_bytes = look.limits.output_total_bytes = kMaxLookOutput;
  policy::PlaceholderValues values = ValuesOf(language, look.limits);
  for (const std::string& source : inspection.sources) {
    // With this prefix no file name can be mistaken for an option.
    values.sources.push_back(
        source == language.source_file ? source : absl::StrCat("./", source));
  }
  look.argv = policy::ExpandCommand(analyser.command, values);
  if (language.zygote && !language.zygote->kinds.empty() &&
      !analyser.runner_arguments.empty()) {
    look.zygote = policy::ZygoteName(language, language.zygote->kinds.front());
    look.runner_argv = policy::ExpandCommand(analyser.runner_arguments, values);
  }
  if (AnalyserWaits(language, *inspection.jails)) {
    look.prestart = PrestartKindName(language, look.phase);
    look.prestart_tells_end = analyser.prestart->tells_end;
    look.prestart_argv =
        policy::ExpandCommand(analyser.prestart->arguments, values);
  }
  const std::vector<std::string_view> texts = SourcesOf(job);
  look.source_file = language.source_file;
  look.code = std::string(texts.front());
  for (size_t i = 1; i < texts.size(); ++i) {
    look.files.push_back({inspection.sources[i], std::string(texts[i])});
  }
  return look;
}

}  // namespace sandglass::server
