#ifndef SANDGLASS_SERVER_LAYERS_LAYER_BUILDS_H_
#define SANDGLASS_SERVER_LAYERS_LAYER_BUILDS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/base/cancel_token.h"
#include "server/base/clock.h"
#include "server/layers/layer_store.h"

namespace sandglass::server {

// Builds layers, each only once, however many callers ask for it. Thread-safe.
class LayerBuilds {
 public:
  // Gets a line for people, without its newline; at most kMaxLine bytes are
  // kept.
  using Progress = std::function<void(std::string_view line)>;
  // Installs into the staging directory. Stops when the token fires.
  using Build = std::function<absl::Status(const LayerStore::Staging& staging,
                                           const Progress& progress,
                                           CancelToken& cancel)>;

  static constexpr size_t kMaxLine = 2048;
  // So many of the earlier lines a caller gets that comes later.
  static constexpr size_t kMaxLines = 256;

  // For so long a failure is remembered and returned to whoever asks for the
  // same again, so that callers in a loop don't ask the registry each time.
  explicit LayerBuilds(LayerStore& store,
                       absl::Duration remember_failure = absl::Seconds(5))
      : store_(store), remember_failure_(remember_failure) {}
  // Cancels the builds that are under way and waits for them. Nobody may be in
  // GetOrBuild.
  ~LayerBuilds() ABSL_LOCKS_EXCLUDED(mutex_);
  LayerBuilds(const LayerBuilds&) = delete;
  LayerBuilds& operator=(const LayerBuilds&) = delete;

  // Returns the store's layer for the key. When it has none, `build` makes one
  // on a thread of its own. Callers that ask for the same key meanwhile wait
  // for the same build, and each also gets all lines of its progress, on its
  // own thread. CANCELLED when `cancel` fires; the build goes on while others
  // wait for it, and is cancelled when nobody does. Errors of the build and of
  // the store's Commit are returned to all that wait, and to those that come
  // within remember_failure.
  absl::StatusOr<LayerStore::Pin> GetOrBuild(const LayerKey& key,
                                             const Build& build,
                                             const Progress& progress,
                                             CancelToken& cancel)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Running {
    CancelToken cancel;
    int waiting = 0;
    uint64_t said = 0;              // lines in all
    std::deque<std::string> lines;  // the last of them
    std::optional<absl::StatusOr<LayerStore::Pin>> result;
    std::thread thread;
  };
  struct Failure {
    absl::Status status;
    MonotonicTime until;
  };

  absl::StatusOr<std::shared_ptr<Running>> Join(const LayerKey& key,
                                                const Build& build)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<LayerStore::Pin> Wait(const std::string& key, Running& running,
                                       const Progress& progress,
                                       CancelToken& cancel)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Leave(const std::string& key, Running& running)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What a build's thread runs.
  void Run(const LayerKey& key, const Build& build,
           const std::shared_ptr<Running>& running) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<LayerStore::Pin> BuildOne(const LayerKey& key,
                                           const Build& build, Running& running)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void JoinEnded() ABSL_LOCKS_EXCLUDED(mutex_);

  LayerStore& store_;
  const absl::Duration remember_failure_;
  absl::Mutex mutex_;
  // By key: the builds that callers can join. The mutex guards the contents of
  // each Running, too.
  std::map<std::string, std::shared_ptr<Running>> running_
      ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Failure> failures_ ABSL_GUARDED_BY(mutex_);
  // All builds whose thread was started and not joined yet.
  std::vector<std::shared_ptr<Running>> threads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LAYERS_LAYER_BUILDS_H_
