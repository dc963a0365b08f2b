#include "server/libraries/layer_admin.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "server/base/clock.h"
#include "server/base/errors.h"
#include "server/base/log.h"
#include "server/base/proto_time.h"
#include "server/base/strings.h"
#include "server/job/library_checks.h"
#include "server/job/request_checks.h"
#include "server/live_policy/tenant_rules.h"
#include "server/run/run_response.h"

namespace sandglass::server {
namespace {

constexpr size_t kIdDigits = 64;
constexpr size_t kFewestDigits = 8;
// Within this time, jails that wait with a layer end, and so do those that have
// just run.
constexpr absl::Duration kRemoveWait = absl::Seconds(3);
constexpr absl::Duration kRemoveStep = absl::Milliseconds(10);

v1::Layer ToProto(const LayerInfo& info) {
  v1::Layer layer;
  layer.set_layer_id(info.id);
  layer.set_language(std::string(policy::EcosystemName(info.ecosystem)));
  // The same set may be there under several keys, such as those of two
  // registries.
  const std::set<std::string> sets(info.libraries.begin(),
                                   info.libraries.end());
  for (const std::string& set : sets) {
    layer.add_sets(absl::StrReplaceAll(set, {{"\n", " "}}));
  }
  layer.set_bytes(info.bytes);
  layer.set_files(info.files);
  *layer.mutable_create_time() = server::ToProto(info.created);
  *layer.mutable_last_used_time() = server::ToProto(info.last_used);
  layer.set_in_use(info.in_use);
  return layer;
}

}  // namespace

absl::Status LayerAdmin::HasLibraries() const {
  if (parts_.libraries != nullptr) return absl::OkStatus();
  return LibrariesUnavailable(parts_.no_libraries);
}

absl::StatusOr<v1::ListLayersResponse> LayerAdmin::List(
    const Identity& caller, const v1::ListLayersRequest& request) const {
  if (absl::Status has = HasLibraries(); !has.ok()) return has;
  std::string language;
  if (!request.language().empty()) {
    Violations violations;
    const policy::Language* known =
        CheckLanguage(*parts_.policy->Get(), request.language(), violations);
    if (known == nullptr) return InvalidRequest(violations);
    language = known->id;
  }
  std::vector<LayerInfo> layers = parts_.libraries->store().List();
  std::stable_sort(layers.begin(), layers.end(),
                   [](const LayerInfo& a, const LayerInfo& b) {
                     return a.last_used > b.last_used;
                   });
  v1::ListLayersResponse response;
  response.set_max_bytes(parts_.libraries->max_bytes());
  const bool all = caller.LooksAfterMachine();
  uint64_t bytes = 0;
  for (const LayerInfo& layer : layers) {
    if (!all && !parts_.libraries->HasHad(caller.name, layer.id)) continue;
    bytes += layer.bytes;
    if (language.empty() ||
        language == policy::EcosystemName(layer.ecosystem)) {
      *response.add_layers() = ToProto(layer);
    }
  }
  response.set_bytes(bytes);
  return response;
}

absl::StatusOr<v1::LayerBuilt> LayerAdmin::Build(
    const Identity& caller, const v1::BuildLayerRequest& request,
    const LayerBuilds::Progress& progress, CancelToken& cancel) const {
  if (absl::Status has = HasLibraries(); !has.ok()) return has;
  const std::shared_ptr<const PolicySet> policy = parts_.policy->Get();
  Violations violations;
  const policy::Language* language =
      CheckLanguage(*policy, request.language(), violations);
  const policy::SharedProfile profile =
      CheckProfile(*policy, ProfileFor(*policy, caller, request.profile()),
                   language, violations);
  const LibraryWish wish = LibraryWish::Of(request);
  if (wish.empty()) {
    violations.push_back({"libraries", "is empty; name what to install"});
  }
  absl::StatusOr<std::optional<LibraryRequest>> wanted =
      CheckLibraries(wish, language, profile.get(), violations);
  if (!violations.empty()) return InvalidRequest(violations);
  if (absl::Status may = MayUseProfile(*policy, caller, profile->name);
      !may.ok()) {
    return may;
  }
  if (!wanted.ok()) return wanted.status();
  if (caller.LooksAfterMachine()) (*wanted)->offline = false;
  (*wanted)->caller = caller.name;
  const absl::StatusOr<FoundLibraries> found =
      parts_.libraries->Get(**wanted, progress, cancel);
  if (!found.ok()) return found.status();
  v1::LayerBuilt built;
  *built.mutable_used() = server::ToProto(Used(**wanted, *found));
  const absl::StatusOr<LayerInfo> layer = Find(found->layer.id);
  if (!layer.ok()) return layer.status();
  *built.mutable_layer() = ToProto(*layer);
  return built;
}

absl::StatusOr<LayerInfo> LayerAdmin::Find(const std::string& digits) const {
  std::optional<LayerInfo> found;
  for (LayerInfo& layer : parts_.libraries->store().List()) {
    if (!absl::StartsWith(layer.id, digits)) continue;
    if (found) {
      return InvalidRequest(
          {{"layer_id", absl::StrCat("begins more than one layer's: ",
                                     found->id, " and ", layer.id)}});
    }
    found = std::move(layer);
  }
  if (!found) return LayerNotFound(digits);
  return *std::move(found);
}

absl::StatusOr<v1::RemoveLayerResponse> LayerAdmin::Remove(
    const Identity& caller, const v1::RemoveLayerRequest& request) const {
  if (absl::Status has = HasLibraries(); !has.ok()) return has;
  if (!caller.LooksAfterMachine()) {
    return NotAnApprover(
        "only root and the approvers of the daemon's configuration remove "
        "layers");
  }
  const std::string& digits = request.layer_id();
  if (digits.size() < kFewestDigits || digits.size() > kIdDigits ||
      !IsLowerHex(digits)) {
    return InvalidRequest(
        {{"layer_id",
          absl::StrCat(Quoted(digits), " is no layer's id; it takes ",
                       kFewestDigits, " to ", kIdDigits,
                       " of its hexadecimal digits")}});
  }
  const absl::StatusOr<LayerInfo> layer = Find(digits);
  if (!layer.ok()) return layer.status();
  parts_.pool->Forget(
      [&](const JailKey& key) { return key.layer.id == layer->id; });
  const MonotonicTime until = After(Now(), kRemoveWait);
  absl::Status removed = parts_.libraries->store().Remove(layer->id);
  while (absl::IsFailedPrecondition(removed) && Now() < until) {
    absl::SleepFor(kRemoveStep);
    removed = parts_.libraries->store().Remove(layer->id);
  }
  if (absl::IsFailedPrecondition(removed)) return LayerInUse(layer->id);
  if (absl::IsNotFound(removed)) return LayerNotFound(layer->id);
  if (!removed.ok()) return removed;
  Log(LogLevel::kInfo, "layer_removed",
      {{"layer_id", layer->id}, {"caller", caller.name}});
  v1::RemoveLayerResponse response;
  *response.mutable_layer() = ToProto(*layer);
  response.mutable_layer()->set_in_use(false);
  return response;
}

}  // namespace sandglass::server
