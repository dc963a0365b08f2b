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

namespace sandglass::server {

struct LayerWatchOptions {
  // Watched at once, of all layers: each holds about a KiB of the kernel's
  // memory. The layer that was asked about the longest ago makes room.
  size_t most_directories = 16'384;
  // So long a look counts. Writes through a mapping of a file that stays open,
  // or through a second name elsewhere, aren't heard.
  absl::Duration trusted = absl::Minutes(1);
};

// Hears from the kernel (inotify(7)) when files of layers are touched, so that
// who looked at them needn't look again: a write is heard before the call that
// writes returns. Thread-safe.
class LayerWatch {
 public:
  using Ticket = uint64_t;

  explicit LayerWatch(const LayerWatchOptions& options = {});
  LayerWatch(const LayerWatch&) = delete;
  LayerWatch& operator=(const LayerWatch&) = delete;

  // Begins anew to hear of a layer: of what is touched in these directories, or
  // happens to them. To be called before they are looked at. 0: can't be heard.
  Ticket Begin(const std::string& layer,
               const std::vector<std::string>& directories)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // After the look, which found them good.
  void Confirm(const std::string& layer, Ticket ticket)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Nothing was touched since a Begin that was confirmed. False: who knows.
  bool IsUntouched(const std::string& layer) ABSL_LOCKS_EXCLUDED(mutex_);
  // Stops to hear of it.
  void End(const std::string& layer) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Watched {
    Ticket ticket = 0;
    std::vector<int> watches;
    bool confirmed = false;
    MonotonicTime begun;
    uint64_t asked = 0;
  };

  // Takes what was heard, and forgets the layers that were touched.
  void Listen() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remove(const std::string& layer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MakeRoom(size_t directories) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const LayerWatchOptions options_;
  const os::Fd inotify_;  // invalid: nothing can be heard
  absl::Mutex mutex_;
  std::map<std::string, Watched> layers_ ABSL_GUARDED_BY(mutex_);
  std::map<int, std::string> layer_of_ ABSL_GUARDED_BY(mutex_);  // by watch
  Ticket last_ticket_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t asked_ ABSL_GUARDED_BY(mutex_) = 0;
  bool told_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LAYERS_LAYER_WATCH_H_
