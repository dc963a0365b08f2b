#include "server/ops/server_info.h"

#include "policy/network/network_words.h"
#include "server/base/limits_proto.h"
#include "server/base/proto_time.h"
#include "server/base/version.h"

namespace sandglass::server {
namespace {

void FillLanguage(const policy::Language& language, const LanguageProbe& probe,
                  v1::LanguageInfo& info) {
  info.set_id(language.id);
  info.set_name(language.name);
  info.mutable_aliases()->Assign(language.aliases.begin(),
                                 language.aliases.end());
  info.mutable_file_extensions()->Assign(language.extensions.begin(),
                                         language.extensions.end());
  const absl::Status available = probe.Available(language);
  info.set_available(available.ok());
  if (available.ok()) {
    info.set_version(probe.Version(language));
  } else {
    info.set_unavailable_reason(std::string(available.message()));
  }
  info.set_preparing(probe.Preparing(language) || probe.Checking(language));
  info.set_compiled(language.compile.has_value());
  info.set_session(language.kernel ? v1::SESSION_SUPPORT_KERNEL
                                   : v1::SESSION_SUPPORT_PROGRAM);
  *info.mutable_least_limits() = ToProto(language.limits);
  info.set_analysed(language.analyser.has_value());
  if (language.compile) {
    *info.mutable_least_compile_limits() = ToProto(language.compile->limits);
  }
}

void FillRules(const policy::Profile& profile, v1::ProfileInfo& info) {
  info.set_rules(static_cast<uint32_t>(profile.rules.size()));
  info.set_asks_for_approval(PolicySet::AsksForApproval(profile));
  info.set_self_approval(profile.approval.self_approval);
  if (profile.redactor != nullptr) {
    for (const auto& pattern : profile.redactor->patterns()) {
      info.add_redactions(pattern.name);
    }
  }
  info.set_commands(std::string(policy::SessionCommandsName(profile.commands)));
}

void FillDiskCap(const policy::DiskCap& cap, v1::DiskCap& info) {
  info.set_read_bytes_per_second(cap.read_bytes);
  info.set_write_bytes_per_second(cap.write_bytes);
  info.set_reads_per_second(cap.reads);
  info.set_writes_per_second(cap.writes);
}

void FillNetwork(const policy::NetworkPolicy* network, v1::ProfileInfo& info) {
  info.set_network(network == nullptr ? "none" : "allowlist");
  if (network == nullptr) return;
  for (const policy::AllowedHost& host : network->hosts) {
    info.add_network_hosts(policy::HostAndPorts(host));
  }
}

void FillProfile(const policy::Profile& profile, const PolicySet& policy,
                 v1::ProfileInfo& info) {
  info.set_name(profile.name);
  info.set_description(profile.description);
  *info.mutable_limits() = ToProto(profile.limits);
  *info.mutable_maximum_limits() = ToProto(profile.maximum);
  info.mutable_languages()->Assign(profile.languages.begin(),
                                   profile.languages.end());
  if (profile.languages.empty()) {
    for (const policy::Language& language :
         *policy.languages().LanguagesIn(profile.image)) {
      // What the host's own image lacks is reported for the languages
      // themselves.
      if (profile.image == policy::kHostImage ||
          CheckInstalled(language).ok()) {
        info.add_languages(language.id);
      }
    }
  }
  FillNetwork(profile.network.get(), info);
  info.set_compile_cache(
      std::string(policy::CompileSharingName(profile.compile_cache)));
  info.set_session_files(
      std::string(policy::SessionFilesName(profile.session_files)));
  FillRules(profile, info);
  if (profile.disk_io.any()) {
    FillDiskCap(profile.disk_io, *info.mutable_disk_io());
  }
  info.set_image(profile.image);
}

void FillImage(const std::string& image, const ServerInfoSources& sources,
               const PolicySet& policy, v1::ImageInfo& info) {
  info.set_name(image);
  if (const auto record = sources.images.find(image);
      record != sources.images.end()) {
    info.set_digest(record->second.digest);
    *info.mutable_build_time() = ToProto(record->second.built);
  }
  for (const policy::Language& language :
       *policy.languages().LanguagesIn(image)) {
    if (!CheckInstalled(language).ok()) continue;
    v1::ImageLanguage& has = *info.add_languages();
    has.set_id(language.id);
    has.set_version(sources.languages->Version(language));
  }
  for (const policy::SharedProfile& profile : policy.profiles()) {
    if (profile->image == image) info.add_profiles(profile->name);
  }
}

}  // namespace

void FillPoolKind(const PoolKeyState& state, v1::PoolKind& kind) {
  kind.set_kind(state.key.kind);
  // The template's name is shown without its digest.
  kind.set_profile(state.key.profile.substr(0, state.key.profile.find('@')));
  kind.set_memory_bytes(state.key.limits.memory_bytes);
  kind.set_idle(state.idle);
  kind.set_target(state.target);
  kind.set_hits(state.hits);
  kind.set_misses(state.misses);
  kind.set_filled(state.filled);
  kind.set_fill_failures(state.fill_failures);
  kind.set_died_idle(state.died_idle);
  *kind.mutable_last_fill() = ToProto(state.last_fill);
  *kind.mutable_mean_fill() = ToProto(state.mean_fill);
}

void FillCompileCache(const CompileCacheState& state, v1::CompileCache& info) {
  info.set_entries(state.entries);
  info.set_bytes(state.bytes);
  info.set_max_bytes(state.options.max_bytes);
  info.set_memory_entries(state.memory_entries);
  info.set_memory_bytes(state.memory_bytes);
  info.set_max_memory_bytes(state.options.max_memory_bytes);
  info.set_hits(state.hits);
  info.set_misses(state.misses);
  info.set_not_cacheable(state.not_cacheable);
  info.set_stored(state.stored);
  info.set_evicted(state.evicted);
  info.set_dropped(state.dropped);
  info.set_write_failures(state.write_failures);
}

void FillAdmission(const Admission& from, v1::Admission& admission) {
  const Admission::Snapshot now = from.snapshot();
  const AdmissionOptions& options = from.options();
  admission.set_running(now.running);
  admission.set_queued(now.queued);
  admission.set_max_running(options.max_running);
  admission.set_max_queued(options.max_queued);
  admission.set_memory_reserved_bytes(now.memory_reserved_bytes);
  admission.set_memory_budget_bytes(options.memory_budget_bytes);
  admission.set_reserve(options.reserve);
  admission.set_memory_reserve_bytes(options.memory_reserve_bytes);
}

v1::GetServerInfoResponse MakeServerInfo(const ServerInfoSources& sources) {
  const std::shared_ptr<const PolicySet> policy = sources.policy->Get();
  v1::GetServerInfoResponse response;
  response.set_version(kVersion);
  for (const policy::Language& language : policy->languages().languages()) {
    FillLanguage(language, *sources.languages, *response.add_languages());
  }
  for (const policy::SharedProfile& profile : policy->profiles()) {
    FillProfile(*profile, *policy, *response.add_profiles());
  }
  for (const std::string& image : policy->languages().images()) {
    FillImage(image, sources, *policy, *response.add_images());
  }
  for (const sandbox::Layer& layer : sources.host.layers) {
    v1::IsolationLayer& info = *response.add_isolation();
    info.set_name(layer.name);
    info.set_state(static_cast<v1::LayerState>(layer.state));
    info.set_required(layer.required);
    info.set_detail(layer.detail);
  }
  response.set_kernel(sources.host.kernel);
  *response.mutable_uptime() = ToProto(Since(sources.started));
  FillAdmission(*sources.admission, *response.mutable_admission());
  if (sources.compile_cache != nullptr) {
    FillCompileCache(sources.compile_cache->State(),
                     *response.mutable_compile_cache());
  }
  if (sources.daemon != nullptr) {
    for (const PoolKeyState& state : sources.daemon->PoolStates()) {
      FillPoolKind(state, *response.add_pool());
    }
    const PolicyReload::State state = sources.daemon->PolicyState();
    v1::PolicyState& info = *response.mutable_policy();
    info.set_digest(policy->digest());
    *info.mutable_load_time() = ToProto(state.loaded);
    info.set_reloads(state.reloads);
    info.set_reload_error(state.last_error);
  }
  return response;
}

}  // namespace sandglass::server
