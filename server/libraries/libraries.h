#ifndef SANDGLASS_SERVER_LIBRARIES_LIBRARIES_H_
#define SANDGLASS_SERVER_LIBRARIES_LIBRARIES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "policy/libraries/libraries.h"
#include "server/base/cancel_token.h"
#include "server/job/job_runner.h"
#include "server/layers/layer_builds.h"
#include "server/layers/layer_store.h"
#include "server/layers/library_request.h"
#include "server/libraries/library_install.h"
#include "server/live_policy/live_policy.h"

namespace sandglass::server {

// The name of an image ("" for the host's) and the ecosystem.
using InstallerKey = std::pair<std::string, policy::Ecosystem>;

// What can be installed, and why the rest can't. Made as root when the daemon
// starts.
struct LibraryInstallers {
  std::map<InstallerKey, LibraryInstaller> usable;
  // With the reason: one sentence.
  std::map<InstallerKey, std::string> unusable;
};

// A zygote that has already imported from a layer.
struct LayerZygote {
  std::string kind;
  LayerStore::Pin pin;  // keeps the layer as long as the zygote is there
};

struct LibrariesParts {
  std::unique_ptr<LayerStore> store;
  LibraryInstallers installers;
  uint64_t max_bytes = 0;                      // of all layers; for people
  uint32_t at_once = 2;                        // installs
  std::map<std::string, LayerZygote> zygotes;  // by their layer's id
  JobRunner* runner = nullptr;                 // of installs; outlives them
  const ArchiveUnpacker* unpacker = nullptr;   // of what installs left
  const LivePolicy* policy = nullptr;  // null: tenants are limited by nothing
};

// Everything that a set's layer depends on. `owner` as in LayerKey.
LayerKey KeyOf(const LibraryInstaller& installer, const policy::LibrarySet& set,
               const std::string& owner = "");

// Finds sets of libraries as layers, and installs those that aren't there.
// Thread-safe.
class Libraries final : public LibraryFinder {
 public:
  explicit Libraries(LibrariesParts parts);

  // As LibraryFinder's. FAILED_PRECONDITION: the language has none here, or
  // they must be there and aren't; else errors of LayerBuilds::GetOrBuild and
  // InstallLibraries.
  absl::StatusOr<FoundLibraries> Get(const LibraryRequest& wanted,
                                     const LayerBuilds::Progress& progress,
                                     CancelToken& cancel) override;

  // Whether this caller has had the layer since the daemon started. What others
  // have installed is only for them to know.
  bool HasHad(const std::string& caller, const std::string& layer_id)
      ABSL_LOCKS_EXCLUDED(mutex_);

  LayerStore& store() { return *parts_.store; }
  uint64_t max_bytes() const { return parts_.max_bytes; }

 private:
  // The key of a set without a lock is computed only once.
  std::shared_ptr<const LayerKey> KeyFor(const LibraryInstaller& installer,
                                         const LibraryRequest& wanted)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The owner that layers for this request have.
  std::string OwnerFor(const LibraryRequest& wanted) const;
  absl::StatusOr<FoundLibraries> Find(const LibraryRequest& wanted,
                                      const LayerBuilds::Progress& progress,
                                      CancelToken& cancel);
  // RESOURCE_EXHAUSTED: so many installs of the tenant go on, or wait, that it
  // may have no more.
  absl::Status EnterInstall(const std::string& tenant)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void LeaveInstall(const std::string& tenant) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Install(const LibraryInstaller& installer,
                       const policy::LibrarySet& set,
                       const LayerStore::Staging& staging,
                       const LayerBuilds::Progress& progress,
                       CancelToken& cancel) ABSL_LOCKS_EXCLUDED(mutex_);

  LibrariesParts parts_;
  absl::Mutex mutex_;
  uint32_t installing_ ABSL_GUARDED_BY(mutex_) = 0;
  // Those that wait among them; no zeros.
  std::map<std::string, uint64_t> installs_of_tenant_ ABSL_GUARDED_BY(mutex_);
  // With the owner.
  std::map<std::tuple<const LibraryInstaller*,
                      std::shared_ptr<const DecidedLibraries>, std::string>,
           std::shared_ptr<const LayerKey>>
      keys_ ABSL_GUARDED_BY(mutex_);
  // Pairs of a caller and the id of a layer.
  std::set<std::pair<std::string, std::string>> had_ ABSL_GUARDED_BY(mutex_);
  LayerBuilds builds_;  // last, since its end waits for installs
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIBRARIES_LIBRARIES_H_
