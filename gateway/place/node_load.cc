#include "gateway/place/node_load.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "policy/tenant/tenant.h"
#include "policy/text/names.h"
#include "policy/text/quoted.h"

namespace sandglass::gateway {
namespace {

constexpr size_t kMaxNodeName = 32;
constexpr size_t kMaxInstance = 64;

// A number of a report with the most that it may be.
struct Figure {
  const char* what;
  uint64_t value;
  uint64_t most;
};

absl::Status Wrong(const NodeLoad& load, const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the report of node ", load.name, ": ", what));
}

absl::Status CheckFigures(const NodeLoad& load) {
  const Figure figures[] = {
      {"max_running", load.max_running, kMaxCount},
      {"running", load.running, kMaxCount},
      {"max_queued", load.max_queued, kMaxCount},
      {"queued", load.queued, kMaxCount},
      {"memory_budget", load.memory_budget, kMaxBytes},
      {"memory_reserved", load.memory_reserved, kMaxBytes},
      {"max_sessions", load.max_sessions, kMaxCount},
      {"sessions", load.sessions, kMaxCount},
      {"session_memory_left", load.session_memory_left, kMaxBytes},
      {"the number of languages", load.offers.languages.size(), kMaxLanguages},
      {"the number of profiles", load.offers.profiles.size(), kMaxProfiles},
      {"the number of images", load.offers.images.size(), kMaxImages},
      {"the number of layers", load.offers.layers.size(), kMaxLayersOfNode},
      {"the number of tenants", load.tenants.size(), kMaxTenantsOfNode},
      {"the number of kinds of warm jails", load.warm_jails.size(),
       kMaxLanguages},
  };
  for (const Figure& figure : figures) {
    if (figure.value > figure.most) {
      return Wrong(load, absl::StrCat(figure.what, " is ", figure.value,
                                      ", and may be ", figure.most));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNames(const NodeLoad& load, const Names& names,
                        const char* what, bool (*is_one)(std::string_view)) {
  for (const std::string& name : names) {
    if (!is_one(name)) {
      return Wrong(load, absl::StrCat(policy::Quoted(name), " is no ", what));
    }
  }
  return absl::OkStatus();
}

bool IsLayerKey(std::string_view key) {
  return !key.empty() && key.size() <= kMaxKeyBytes;
}

absl::Status CheckTenants(const NodeLoad& load) {
  for (const auto& [tenant, has] : load.tenants) {
    if (!policy::IsTenantFileName(tenant)) {
      return Wrong(load, absl::StrCat(policy::Quoted(tenant), " is no tenant"));
    }
    if (std::max({has.running, has.queued, has.sessions}) > kMaxCount ||
        has.session_memory > kMaxBytes) {
      return Wrong(load, absl::StrCat("tenant ", tenant,
                                      " has more than any node holds"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckWarmJails(const NodeLoad& load) {
  for (const auto& [language, jails] : load.warm_jails) {
    if (!policy::IsLanguageId(language) || jails > kMaxCount) {
      return Wrong(load, absl::StrCat(jails, " warm jails of ",
                                      policy::Quoted(language)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool IsNodeName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNodeName &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

absl::Status CheckNodeLoad(const NodeLoad& load) {
  if (!IsNodeName(load.name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        policy::Quoted(load.name),
        " is no name of a node: at most 32 of a-z, 0-9 and \"-\""));
  }
  if (load.instance.size() > kMaxInstance) {
    return Wrong(load, "its instance has more than 64 bytes");
  }
  if (load.as_of > load.heard) {
    return Wrong(load, "it was true only after it had come");
  }
  const NodeOffers& offers = load.offers;
  absl::Status status = CheckFigures(load);
  status.Update(
      CheckNames(load, offers.languages, "language", policy::IsLanguageId));
  status.Update(
      CheckNames(load, offers.profiles, "profile", policy::IsPolicyName));
  status.Update(CheckNames(load, offers.images, "image", policy::IsPolicyName));
  status.Update(CheckNames(load, offers.layers, "key of a layer", IsLayerKey));
  status.Update(CheckTenants(load));
  status.Update(CheckWarmJails(load));
  return status;
}

}  // namespace sandglass::gateway
