#include "server/languages/prestart_kinds.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/job/job_builder.h"

namespace sandglass::server {

PrestartKinds::PrestartKinds(const LivePolicy& policy) : policy_(policy) {
  const auto add = [this](const policy::Language& language, policy::Phase phase,
                          const std::optional<policy::PrestartRecipe>& recipe) {
    if (!recipe) return;
    kinds_[PrestartKindName(language, phase)] = {&language, phase, &*recipe};
  };
  for (const policy::Language& language :
       policy.Get()->languages().languages()) {
    add(language, policy::Phase::kRun, language.prestart);
    if (language.compile) {
      add(language, policy::Phase::kCompile, language.compile->prestart);
    }
    if (language.analyser) {
      add(language, policy::Phase::kAnalysis, language.analyser->prestart);
    }
  }
}

absl::StatusOr<sandbox::ProgramSpec> PrestartKinds::InterpreterOf(
    const JailKey& key) const {
  const Kind& kind = kinds_.at(key.kind);
  const policy::SharedProfile profile =
      policy_.Get()->FindByTemplate(key.profile);
  if (profile == nullptr) {
    return absl::NotFoundError(
        absl::StrCat(key.profile, " is no longer a profile in force"));
  }
  const policy::Language& language =
      policy_.Get()->languages().In(profile->image, *kind.language);
  return MakePrestart(language, kind.phase, *profile, key.limits);
}

std::map<std::string, KindOptions> PrestartKinds::Options() const {
  std::map<std::string, KindOptions> options;
  for (const auto& [name, kind] : kinds_) {
    options[name] = {.idle_bytes = kind.recipe->idle_bytes,
                     .floor = kind.recipe->floor,
                     .ceiling = kind.recipe->ceiling,
                     .slow = true};
  }
  return options;
}

std::vector<JailKey> PrestartKinds::FromStart(
    const policy::Language& language) const {
  return DefaultKeys([&](const Kind& kind) {
    return kind.language->id == language.id && kind.recipe->from_start;
  });
}

std::vector<JailKey> PrestartKinds::OnceUsed() const {
  return DefaultKeys([](const Kind& kind) { return !kind.recipe->from_start; });
}

std::vector<JailKey> PrestartKinds::DefaultKeys(
    const std::function<bool(const Kind&)>& wanted) const {
  const policy::SharedProfile profile = policy_.Get()->FindProfile("");
  std::vector<JailKey> keys;
  for (const auto& [name, kind] : kinds_) {
    if (!wanted(kind) || (kind.phase == policy::Phase::kAnalysis &&
                          !AnalyserWaits(*kind.language, *profile))) {
      continue;
    }
    const bool runs = kind.phase == policy::Phase::kRun;
    JailKey& key = keys.emplace_back();
    key.kind = name;
    key.profile = runs ? profile->run_template() : profile->jail_template;
    // The limits are those of a request that names none.
    key.limits = profile->limits;
    policy::RaiseTo(kind.phase == policy::Phase::kCompile
                        ? kind.language->compile->limits
                        : kind.language->limits,
                    key.limits);
  }
  return keys;
}

}  // namespace sandglass::server
