#include "server/daemon/library_setup.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sandbox/os/files.h"
#include "sandbox/os/rights.h"
#include "sandbox/os/status.h"
#include "server/base/certificate_file.h"
#include "server/base/digest.h"
#include "server/base/log.h"
#include "server/images/image_files.h"
#include "server/libraries/library_registry.h"

namespace sandglass::server {
namespace {

// An install may also run compilers on what packages contain.
constexpr uint32_t kProcesses = 256;
constexpr uint32_t kOpenFiles = 4096;
constexpr uint32_t kCpuMillis = 2000;
constexpr uint32_t kFiles = 500'000;
constexpr uint64_t kOutputBytes = 64 << 10;
constexpr uint64_t kAllOutputBytes = 16 << 20;

constexpr char kHostTrusts[] = "/etc/ssl/certs/ca-certificates.crt";

policy::Limits InstallLimits(const LibrariesConfig& config) {
  policy::Limits limits;
  limits.wall_time = config.install_timeout;
  limits.cpu_time = 2 * config.install_timeout;
  limits.memory_bytes = config.install_memory_bytes;
  limits.max_processes = kProcesses;
  limits.cpu_millis = kCpuMillis;
  limits.tmp_bytes = config.install_memory_bytes / 4;
  // The room for the files and for the archive of them.
  limits.workspace_bytes =
      std::min(config.install_memory_bytes / 4 * 3, 3 * config.max_layer_bytes);
  limits.max_files = kFiles;
  limits.output_bytes = kOutputBytes;
  limits.output_total_bytes = kAllOutputBytes;
  limits.open_files = kOpenFiles;
  limits.file_size_bytes = limits.workspace_bytes;
  return limits;
}

// Returns the registry that the language's installer can use, or why there is
// none.
absl::StatusOr<LibraryRegistry> UsableRegistry(const policy::Language& language,
                                               const LibrariesConfig& config,
                                               policy::Ecosystem ecosystem) {
  const policy::LibraryRecipe& recipe = *language.libraries;
  for (const std::string& path : recipe.needs) {
    if (RealPathInImage(language.image_root, path)) continue;
    if (!language.image.empty()) {
      return absl::NotFoundError(absl::StrCat(
          path,
          " is not in it; build it with deploy/images/build.sh --libraries"));
    }
    return absl::NotFoundError(absl::StrCat(
        path, " is not there", recipe.package.empty() ? "" : "; install ",
        recipe.package));
  }
  const auto configured = config.registries.find(ecosystem);
  return FindRegistry(recipe,
                      configured == config.registries.end()
                          ? RegistryConfig()
                          : configured->second,
                      language.id);
}

LibraryInstaller MakeInstaller(const policy::Language& language,
                               const LibrariesConfig& config,
                               const LibraryRegistry& registry) {
  LibraryInstaller installer = {
      .recipe = *language.libraries,
      .registry = registry.url,
      .bounds = {.max_bytes = config.max_layer_bytes}};
  policy::Profile& profile = installer.profile;
  profile.name = absl::StrCat("libraries of ", language.id);
  if (!language.image.empty()) profile.image = language.image;
  profile.limits = profile.maximum = InstallLimits(config);
  profile.network =
      std::make_shared<const policy::NetworkPolicy>(registry.network);
  profile.jail_template =
      absl::StrCat("libraries@", language.id, language.image.empty() ? "" : "@",
                   language.image);
  return installer;
}

// So many digits of a layer's id fit into a kind's name.
constexpr size_t kKindDigits = 12;

absl::StatusOr<PlannedZygote> PlanLayerZygote(const Config& config,
                                              const LibraryZygoteConfig& wanted,
                                              const PolicySet& policy,
                                              const Ids& identity,
                                              LibrariesParts& parts) {
  const policy::Language* language = policy.languages().Find(wanted.language);
  const auto ecosystem = policy::EcosystemOfLanguage(wanted.language);
  if (language == nullptr || !ecosystem || !language->zygote ||
      language->zygote->kinds.empty() || language->libraries->fresh) {
    return absl::FailedPreconditionError(
        "the language's interpreters import no libraries ahead");
  }
  const InstallerKey on_host = {"", *ecosystem};
  const auto installer = parts.installers.usable.find(on_host);
  if (installer == parts.installers.usable.end()) {
    return absl::FailedPreconditionError(parts.installers.unusable[on_host]);
  }
  absl::StatusOr<policy::LibrarySet> set =
      policy::LibrarySet::Parse(*ecosystem, wanted.libraries);
  if (!set.ok()) return set.status();
  std::optional<LayerStore::Pin> pin;
  {
    // What the server wrote is read with the server's rights only.
    const os::ActingAs server(identity.uid, identity.gid);
    if (!server.ok()) return os::ErrnoStatus("seteuid ", identity.uid);
    pin = parts.store->Find(KeyOf(installer->second, *set));
  }
  if (!pin) {
    return absl::NotFoundError(
        absl::StrCat("they aren't installed; run: sandglass layers build ",
                     wanted.language, " ", absl::StrJoin(wanted.libraries, " "),
                     ", and start the daemon anew"));
  }
  policy::ZygoteKind kind;
  kind.name = absl::StrCat("layer-", pin->id().substr(0, kKindDigits));
  kind.preload = wanted.preload;
  PlannedZygote zygote = PlanZygote(config, *language, kind);
  for (const auto& [name, value] : language->libraries->run_env) {
    zygote.options.env.push_back(absl::StrCat(name, "=", value));
  }
  zygote.options.layer = pin->id();
  zygote.idle_bytes = wanted.idle_memory_bytes;
  zygote.always = false;
  zygote.options.start_delay = kSpecialStartDelay;
  const std::string id = pin->id();
  if (!parts.zygotes
           .emplace(id, LayerZygote{zygote.options.kind, *std::move(pin)})
           .second) {
    return absl::AlreadyExistsError("another entry names the same libraries");
  }
  return zygote;
}

}  // namespace

absl::StatusOr<std::optional<LibrariesParts>> PrepareLibraries(
    const LibrariesConfig& config, const PolicySet& policy, const Ids& identity,
    const ImageStates& image_states,
    std::vector<sandbox::JailTemplate>& templates, std::string& why_none) {
  why_none =
      "this daemon installs no libraries: \"libraries.dir\" of its "
      "configuration is empty";
  if (config.dir.empty()) return std::nullopt;
  absl::StatusOr<std::unique_ptr<LayerStore>> store =
      LayerStore::Open(config.dir, identity.uid, identity.gid,
                       {.max_bytes = config.max_bytes,
                        .max_age = config.max_age,
                        .each = {.max_bytes = config.max_layer_bytes}});
  if (!store.ok()) {
    Log(LogLevel::kWarning, "no_place_for_libraries",
        {{"error", std::string(store.status().message())}});
    why_none = absl::StrCat(
        "this daemon installs no libraries, since it could not "
        "use \"libraries.dir\" of its configuration: ",
        store.status().message());
    return std::nullopt;
  }
  // An image may trust no certificates, and the registries are those of the
  // host.
  const std::string hosts = os::ReadWholeFile(kHostTrusts).value_or("");
  absl::StatusOr<std::string> certificates =
      ReadCertificates("libraries.ca_file", config.ca_file);
  if (!certificates.ok()) return certificates.status();
  if (!certificates->empty()) {
    *certificates = absl::StrCat(hosts, "\n", *certificates);
  }
  LibrariesParts parts;
  parts.store = *std::move(store);
  parts.max_bytes = config.max_bytes;
  parts.at_once = config.install_at_once;
  // The installing jails have the filter of the default profile.
  const std::string model = policy.FindProfile("")->jail_template;
  const auto base =
      std::find_if(templates.begin(), templates.end(),
                   [&](const auto& each) { return each.name == model; });
  if (base == templates.end()) return std::nullopt;
  sandbox::JailTemplate jail = *base;
  for (const policy::Language* language : policy.languages().InAllImages()) {
    const auto ecosystem = policy::EcosystemOfLanguage(language->id);
    if (!ecosystem || !language->libraries) continue;
    const InstallerKey place = {language->image, *ecosystem};
    const absl::StatusOr<LibraryRegistry> registry =
        UsableRegistry(*language, config, *ecosystem);
    if (!registry.ok()) {
      parts.installers.unusable[place] =
          std::string(registry.status().message());
      continue;
    }
    LibraryInstaller installer = MakeInstaller(*language, config, *registry);
    Digest toolchain;
    toolchain.Add(image_states.at(language->image));
    toolchain.Add(installer.recipe.script);
    // Another version may need other files; the names of Debian's executables
    // contain it.
    const std::string& tool = language->compile
                                  ? language->compile->command.front()
                                  : language->run.front();
    toolchain.Add(RealPathInImage(language->image_root, tool).value_or(""));
    installer.toolchain = toolchain.Hex();
    installer.certificates = certificates->empty() && !language->image.empty()
                                 ? hosts
                                 : *certificates;
    jail.name = installer.profile.jail_template;
    jail.maximum = installer.profile.limits;
    jail.image = installer.profile.image;
    jail.network = installer.profile.network;
    templates.push_back(jail);
    Log(LogLevel::kInfo, "libraries",
        {{"lang", language->id},
         {"image", language->image},
         {"source", registry->source}});
    parts.installers.usable.emplace(place, std::move(installer));
  }
  return parts;
}

std::vector<PlannedZygote> PlanLayerZygotes(const Config& config,
                                            const PolicySet& policy,
                                            const Ids& identity,
                                            LibrariesParts& parts) {
  std::vector<PlannedZygote> planned;
  if (config.pool.floor == 0 || config.trace_syscalls) return planned;
  for (const LibraryZygoteConfig& wanted : config.libraries.zygotes) {
    absl::StatusOr<PlannedZygote> zygote =
        PlanLayerZygote(config, wanted, policy, identity, parts);
    if (zygote.ok()) {
      planned.push_back(*std::move(zygote));
      continue;
    }
    Log(LogLevel::kWarning, "zygote_left_out",
        {{"lang", wanted.language},
         {"libraries", absl::StrJoin(wanted.libraries, " ")},
         {"error", std::string(zygote.status().message())}});
  }
  return planned;
}

}  // namespace sandglass::server
