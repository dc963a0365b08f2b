#ifndef SANDGLASS_SERVER_LAYERS_LAYER_WATCH_H_
#define SANDGLASS_SERVER_LAYERS_LAYER_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "sandbox/os/fd.h"
#include "server/base/clock.h"
#include "server/base/lru_index.h"

namespace sandglass::server {

struct LayerWatchOptions {
  // The most directories that are watched at once, of all layers together: each
  // takes about a KiB of the kernel's memory. To make room, the layer that was
  // asked about the longest ago is no longer watched.
  size_t max_directories = 16'384;
  // How long a check counts. Needed because the kernel doesn't report writes
  // through a mapping of a file that stays open, or through a second name
  // elsewhere.
  absl::Duration trusted = absl::Minutes(1);
};

// Learns from the kernel (inotify(7)) when files of layers are touched, so that
// files that were checked once needn't be checked again: a write is reported
// before the call that writes returns. Thread-safe.
class LayerWatch {
 public:
  using Ticket = uint64_t;

  explicit LayerWatch(const LayerWatchOptions& options = {});
  LayerWatch(const LayerWatch&) = delete;
  LayerWatch& operator=(const LayerWatch&) = delete;

  // Begins anew to watch a layer: whatever is touched in these directories, or
  // happens to them, is noticed from now on. Call it before the directories are
  // checked. Returns 0 when they can't be watched.
  Ticket Begin(const std::string& layer,
               const std::vector<std::string>& directories)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Call it after the check, if it found the layer good.
  void Confirm(const std::string& layer, Ticket ticket)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // True when nothing was touched since a Begin that was confirmed. False when
  // that isn't known.
  bool IsUntouched(const std::string& layer) ABSL_LOCKS_EXCLUDED(mutex_);
  // Stops watching the layer.
  void End(const std::string& layer) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Watched {
    Ticket ticket = 0;
    std::vector<int> watches;
    bool confirmed = false;
    MonotonicTime begun;
  };

  // Reads the kernel's events and forgets the layers that were touched.
  void Listen() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remove(const std::string& layer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MakeRoom(size_t directories) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const LayerWatchOptions options_;
  const os::Fd inotify_;  // invalid when nothing can be watched
  absl::Mutex mutex_;
  std::map<std::string, Watched> layers_ ABSL_GUARDED_BY(mutex_);
  std::map<int, std::string> layer_of_ ABSL_GUARDED_BY(mutex_);  // by watch
  // The layers by when they were last asked about, each as large as the number
  // of its directories.
  LruIndex order_ ABSL_GUARDED_BY(mutex_);
  Ticket last_ticket_ ABSL_GUARDED_BY(mutex_) = 0;
  bool told_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LAYERS_LAYER_WATCH_H_
