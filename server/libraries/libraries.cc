#include "server/libraries/libraries.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "policy/libraries/library_lock.h"
#include "server/base/clock.h"
#include "server/base/digest.h"
#include "server/base/errors.h"
#include "server/base/log.h"
#include "server/identity/identity.h"

namespace sandglass::server {
namespace {

constexpr size_t kMaxKeys = 1024;
constexpr size_t kMaxHad = 16 * 1024;
// How often an install that waits for others checks whether it is cancelled.
constexpr absl::Duration kLookAgain = absl::Milliseconds(100);
// What one usually takes.
constexpr absl::Duration kRetryInstall = absl::Seconds(5);

std::string Name(policy::Ecosystem ecosystem) {
  return std::string(policy::EcosystemName(ecosystem));
}

// A digest of everything that the installer gets of a lock; empty without one.
std::string LockDigest(const policy::LibrarySet& set) {
  if (set.lock() == nullptr) return "";
  Digest digest;
  for (const policy::LockFile& file : policy::LockFiles(set)) {
    digest.Add(file.path);
    digest.Add(file.text);
  }
  return digest.Hex();
}

// For messages, since a lock may name thousands of libraries.
std::string Shortened(const policy::LibrarySet& set) {
  constexpr size_t kMax = 1000;
  const std::string text = set.Canonical();
  return text.size() <= kMax
             ? text
             : absl::StrCat(text.substr(0, text.rfind('\n', kMax)), "\nand ",
                            "more, ", set.libraries().size(), " in all");
}

}  // namespace

Libraries::Libraries(LibrariesParts parts)
    : parts_(std::move(parts)), builds_(*parts_.store) {}

LayerKey KeyOf(const LibraryInstaller& installer, const policy::LibrarySet& set,
               const std::string& owner) {
  return {.ecosystem = set.ecosystem(),
          .libraries = set.Canonical(),
          .lock = LockDigest(set),
          .toolchain = installer.toolchain,
          .registry = installer.registry,
          .owner = owner};
}

UsedLibraries Used(const LibraryRequest& wanted, const FoundLibraries& found) {
  return {.layer_id = found.layer.id,
          .names = wanted.decided->names,
          .installed = found.installed,
          .wait = found.wait};
}

absl::StatusOr<FoundLibraries> Libraries::Get(
    const LibraryRequest& wanted, const LayerBuilds::Progress& progress,
    CancelToken& cancel) {
  const MonotonicTime began = Now();
  absl::StatusOr<FoundLibraries> found = Find(wanted, progress, cancel);
  if (!found.ok()) return found;
  found->wait = Between(began, Now());
  if (!wanted.caller.empty()) {
    const absl::MutexLock lock(&mutex_);
    // When there are too many, all are forgotten; callers then see only what
    // they used since.
    if (had_.size() >= kMaxHad) had_.clear();
    had_.emplace(wanted.caller, found->layer.id);
  }
  // A layer with the same files may also be there for another image, whose
  // zygote is not the host's.
  const auto zygote = wanted.image.empty()
                          ? parts_.zygotes.find(found->layer.id)
                          : parts_.zygotes.end();
  if (zygote != parts_.zygotes.end()) found->zygote = zygote->second.kind;
  return found;
}

bool Libraries::HasHad(const std::string& caller, const std::string& layer_id) {
  const absl::MutexLock lock(&mutex_);
  return had_.count({caller, layer_id}) != 0;
}

std::shared_ptr<const LayerKey> Libraries::KeyFor(
    const LibraryInstaller& installer, const LibraryRequest& wanted) {
  const std::string owner = OwnerFor(wanted);
  const auto make = [&] {
    LayerKey key = KeyOf(installer, wanted.set(), owner);
    key.hex = key.Hex();
    return std::make_shared<const LayerKey>(std::move(key));
  };
  if (wanted.set().lock() != nullptr) return make();
  const absl::MutexLock lock(&mutex_);
  if (keys_.size() >= kMaxKeys) keys_.clear();
  std::shared_ptr<const LayerKey>& known =
      keys_[{&installer, wanted.decided, owner}];
  if (known == nullptr) known = make();
  return known;
}

std::string Libraries::OwnerFor(const LibraryRequest& wanted) const {
  // What a profile takes only if it is there already comes from operators.
  if (parts_.policy == nullptr || wanted.caller.empty() ||
      wanted.decided->offline) {
    return "";
  }
  const std::shared_ptr<const PolicySet> policy = parts_.policy->Get();
  const policy::Tenant* tenant =
      policy->tenants()->Find(std::string(TenantOf(wanted.caller)));
  return tenant != nullptr && tenant->own_libraries ? tenant->name : "";
}

absl::StatusOr<FoundLibraries> Libraries::Find(
    const LibraryRequest& wanted, const LayerBuilds::Progress& progress,
    CancelToken& cancel) {
  const policy::LibrarySet& set = wanted.set();
  const InstallerKey installers = {wanted.image, set.ecosystem()};
  const auto found = parts_.installers.usable.find(installers);
  if (found == parts_.installers.usable.end()) {
    const auto why = parts_.installers.unusable.find(installers);
    return LibrariesUnavailable(absl::StrCat(
        "no libraries of ", Name(set.ecosystem()), " can be had ",
        wanted.image.empty() ? "here"
                             : absl::StrCat("in the image ", wanted.image),
        ": ",
        why == parts_.installers.unusable.end()
            ? "the language has no recipe for them"
            : why->second));
  }
  const LibraryInstaller& installer = found->second;
  const std::shared_ptr<const LayerKey> shared_key = KeyFor(installer, wanted);
  const LayerKey& key = *shared_key;
  const auto layer = [](LayerStore::Pin pin) {
    JailLayer named;
    named.id = pin.id();
    named.pin = std::make_shared<const LayerStore::Pin>(std::move(pin));
    return named;
  };
  if (std::optional<LayerStore::Pin> there = parts_.store->Find(key)) {
    return FoundLibraries{.layer = layer(*std::move(there))};
  }
  if (wanted.offline) {
    return LibrariesUnavailable(absl::StrCat(
        "the profile takes only libraries that are installed already, and ",
        Shortened(set), " isn't; ask the operator to install it"));
  }
  const std::string tenant(TenantOf(wanted.caller));
  if (absl::Status room = EnterInstall(tenant); !room.ok()) return room;
  const absl::Cleanup leave = [&] { LeaveInstall(tenant); };
  absl::StatusOr<LayerStore::Pin> built = builds_.GetOrBuild(
      key,
      [&installer, set, this](const LayerStore::Staging& staging,
                              const LayerBuilds::Progress& say,
                              CancelToken& stop) {
        return Install(installer, set, staging, say, stop);
      },
      progress, cancel);
  if (!built.ok()) {
    return absl::IsCancelled(built.status())
               ? built.status()
               : LibrariesNotInstalled(built.status());
  }
  return FoundLibraries{.layer = layer(*std::move(built)), .installed = true};
}

absl::Status Libraries::EnterInstall(const std::string& tenant) {
  const uint64_t most =
      parts_.policy == nullptr
          ? policy::kNoCeiling
          : parts_.policy->Get()->tenants()->Get(tenant).ceilings.installs;
  const absl::MutexLock lock(&mutex_);
  uint64_t& installs = installs_of_tenant_[tenant];
  if (installs < most) {
    ++installs;
    return absl::OkStatus();
  }
  const uint64_t has = installs;
  if (has == 0) installs_of_tenant_.erase(tenant);
  return TenantCeiling(tenant, "installs", has, most,
                       has == 0 ? absl::InfiniteDuration() : kRetryInstall);
}

void Libraries::LeaveInstall(const std::string& tenant) {
  const absl::MutexLock lock(&mutex_);
  const auto of_tenant = installs_of_tenant_.find(tenant);
  if (--of_tenant->second == 0) installs_of_tenant_.erase(of_tenant);
}

absl::Status Libraries::Install(const LibraryInstaller& installer,
                                const policy::LibrarySet& set,
                                const LayerStore::Staging& staging,
                                const LayerBuilds::Progress& progress,
                                CancelToken& cancel) {
  {
    const absl::MutexLock lock(&mutex_);
    const auto has_place = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return installing_ < parts_.at_once;
    };
    while (!mutex_.AwaitWithTimeout(absl::Condition(&has_place), kLookAgain)) {
      if (cancel.reason().has_value()) {
        return absl::CancelledError("the install was cancelled");
      }
    }
    ++installing_;
  }
  absl::Status installed =
      InstallLibraries(installer, set, *parts_.runner, *parts_.unpacker,
                       staging.path(), progress, cancel);
  Log(installed.ok() ? LogLevel::kInfo : LogLevel::kWarning,
      "libraries_installed",
      {{"lang", Name(set.ecosystem())},
       {"libraries", Shortened(set)},
       {"ok", installed.ok()},
       {"error", std::string(installed.message())}});
  parts_.store->EvictOld();
  const absl::MutexLock lock(&mutex_);
  --installing_;
  return installed;
}

}  // namespace sandglass::server
