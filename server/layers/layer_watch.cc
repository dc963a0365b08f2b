#include "server/layers/layer_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "server/base/log.h"
#include "server/base/strings.h"
#include "server/layers/layer_files.h"

namespace sandglass::server {
namespace {

// Every kind of event except reading. A write through a mapping is reported
// when the file is closed.
constexpr uint32_t kTouches = IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE |
                              IN_CREATE | IN_DELETE | IN_MOVE | IN_DELETE_SELF |
                              IN_MOVE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW;
constexpr size_t kBufferBytes = size_t{16} << 10;

// The record and its draft are written by the store itself, so their events
// don't count.
bool IsOfRecord(std::string_view name) {
  return name.substr(0, sizeof(kLayerRecord) - 1) == kLayerRecord;
}

}  // namespace

LayerWatch::LayerWatch(const LayerWatchOptions& options)
    : options_(options), inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

LayerWatch::Ticket LayerWatch::Begin(
    const std::string& layer, const std::vector<std::string>& directories) {
  const absl::MutexLock lock(&mutex_);
  Listen();
  Remove(layer);
  if (!inotify_.valid() || !MakeRoom(directories.size())) return 0;
  Watched& watched = layers_[layer];
  watched.ticket = ++last_ticket_;
  watched.begun = Now();
  order_.Put(layer, directories.size());
  for (const std::string& directory : directories) {
    const int watch =
        ::inotify_add_watch(inotify_.get(), directory.c_str(), kTouches);
    if (watch < 0) {
      // In most cases fs.inotify.max_user_watches is reached. This is logged
      // only once.
      if (!std::exchange(told_, true)) {
        Log(LogLevel::kInfo, "layer_not_watched",
            {{"layer_id", layer}, {"error", ErrorText(errno)}});
      }
      Remove(layer);
      return 0;
    }
    watched.watches.push_back(watch);
    layer_of_[watch] = layer;
  }
  return watched.ticket;
}

void LayerWatch::Confirm(const std::string& layer, Ticket ticket) {
  const absl::MutexLock lock(&mutex_);
  Listen();
  const auto found = layers_.find(layer);
  // Either the layer was touched meanwhile, or another check began, whose own
  // caller confirms it.
  if (found == layers_.end() || found->second.ticket != ticket) return;
  found->second.confirmed = true;
}

bool LayerWatch::IsUntouched(const std::string& layer) {
  const absl::MutexLock lock(&mutex_);
  Listen();
  const auto found = layers_.find(layer);
  if (found == layers_.end() || !found->second.confirmed) return false;
  if (Since(found->second.begun) > options_.trusted) return false;
  order_.Use(layer);
  return true;
}

void LayerWatch::End(const std::string& layer) {
  const absl::MutexLock lock(&mutex_);
  Remove(layer);
}

void LayerWatch::Listen() {
  alignas(inotify_event) char buffer[kBufferBytes];
  while (inotify_.valid()) {
    const ssize_t size = ::read(inotify_.get(), buffer, sizeof(buffer));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    for (const char* at = buffer; at < buffer + size;) {
      inotify_event event;
      std::memcpy(&event, at, sizeof(event));
      const char* name = at + sizeof(event);
      at = name + event.len;
      if ((event.mask & IN_Q_OVERFLOW) != 0) {
        while (!layers_.empty()) Remove(std::string(layers_.begin()->first));
        continue;
      }
      // There may still be events of a watch that was removed.
      const auto found = layer_of_.find(event.wd);
      if (found == layer_of_.end()) continue;
      if (event.len > 0 && IsOfRecord(name)) continue;
      Remove(std::string(found->second));
    }
  }
}

void LayerWatch::Remove(const std::string& layer) {
  const auto found = layers_.find(layer);
  if (found == layers_.end()) return;
  for (const int watch : found->second.watches) {
    layer_of_.erase(watch);
    // The watch of a directory that was removed is already gone, so errors
    // don't matter.
    (void)::inotify_rm_watch(inotify_.get(), watch);
  }
  layers_.erase(found);
  order_.Erase(layer);
}

bool LayerWatch::MakeRoom(size_t directories) {
  if (directories > options_.max_directories) return false;
  while (order_.bytes() + directories > options_.max_directories) {
    Remove(std::string(order_.oldest()));
  }
  return true;
}

}  // namespace sandglass::server
