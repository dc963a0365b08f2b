#include "server/daemon/zygote_plan.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "policy/language/zygote_kind.h"
#include "server/base/log.h"
#include "server/images/image_files.h"
#include "server/job/job_builder.h"
#include "server/languages/languages.h"

namespace sandglass::server {
namespace {

bool HasWhatItNeeds(const policy::Language& language,
                    const policy::ZygoteKind& kind) {
  const auto missing = std::find_if(
      kind.needs.begin(), kind.needs.end(), [&](const std::string& path) {
        return !RealPathInImage(language.image_root, path);
      });
  if (missing == kind.needs.end()) return true;
  Log(LogLevel::kInfo, "zygote_left_out",
      {{"kind", policy::ZygoteName(language, kind)}, {"missing", *missing}});
  return false;
}

// The library stands beside the spawner, both in the build tree and where they
// are installed.
std::string LibraryOf(const std::string& spawner,
                      const policy::Language& language) {
  return (std::filesystem::path(spawner).parent_path() /
          language.zygote->library)
      .string();
}

// The native part of zygotes is made for the host's interpreters, so
// interpreters of other versions have no zygotes. Debian has the version in the
// executable's name.
bool FitsTheHost(const policy::Language& language) {
  if (language.image.empty()) return true;
  const std::string& interpreter = language.zygote->inject
                                       ? language.run.front()
                                       : language.zygote->command.front();
  const auto own = RealPathInImage(language.image_root, interpreter);
  if (own && own == RealPathInImage("", interpreter)) return true;
  Log(LogLevel::kInfo, "no_zygotes",
      {{"language", language.id},
       {"image", language.image},
       {"so",
        "its interpreter is another than the host's, and every run "
        "starts it"}});
  return false;
}

bool HasLibrary(const std::string& spawner, const policy::Language& language) {
  const std::string library = LibraryOf(spawner, language);
  if (::access(library.c_str(), R_OK) == 0) return true;
  Log(LogLevel::kWarning, "no_zygotes",
      {{"language", language.id},
       {"missing", library},
       {"so", "every run starts its interpreter"}});
  return false;
}

}  // namespace

PlannedZygote PlanZygote(const Config& config, const policy::Language& language,
                         const policy::ZygoteKind& kind) {
  PlannedZygote zygote = {.options = MakeZygote(language, kind),
                          .idle_bytes = kind.idle_memory_bytes,
                          .always = kind.serves.empty()};
  zygote.options.library_path = LibraryOf(config.spawner, language);
  if (!language.image.empty()) {
    zygote.options.image = language.image;
    zygote.always = false;
  }
  zygote.options.spare_jails = 1;
  zygote.options.renew_after = config.zygote_runs;
  return zygote;
}

std::vector<PlannedZygote> PlanZygotes(const Config& config,
                                       PolicySet& policy) {
  std::vector<PlannedZygote> zygotes;
  // The calls of a runner's program can't be traced.
  if (config.pool.floor == 0 || config.trace_syscalls) return zygotes;
  policy.mutable_languages().KeepZygoteKinds(
      [](const policy::Language& language, const policy::ZygoteKind& kind) {
        return CheckInstalled(language).ok() && FitsTheHost(language) &&
               HasWhatItNeeds(language, kind);
      });
  for (const policy::Language* language : policy.languages().InAllImages()) {
    if (!language->zygote || language->zygote->kinds.empty() ||
        !HasLibrary(config.spawner, *language)) {
      continue;
    }
    for (const policy::ZygoteKind& kind : language->zygote->kinds) {
      PlannedZygote zygote = PlanZygote(config, *language, kind);
      if (zygote.always) {
        zygote.options.yards = config.spawners;
      } else {
        zygote.options.start_delay = kSpecialStartDelay;
      }
      zygotes.push_back(std::move(zygote));
    }
  }
  return zygotes;
}

}  // namespace sandglass::server
