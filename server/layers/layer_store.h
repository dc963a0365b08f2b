#ifndef SANDGLASS_SERVER_LAYERS_LAYER_STORE_H_
#define SANDGLASS_SERVER_LAYERS_LAYER_STORE_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "policy/libraries/libraries.h"
#include "sandbox/os/fd.h"
#include "server/base/lru_index.h"
#include "server/layers/layer_tree.h"
#include "server/layers/layer_watch.h"

namespace sandglass::server {

// Everything that an installed set of libraries depends on.
struct LayerKey {
  policy::Ecosystem ecosystem = policy::Ecosystem::kPython;
  std::string libraries;  // LibrarySet::Canonical()
  std::string lock;       // digest of LockFiles(); empty when there is none
  std::string toolchain;  // state of interpreter and installer
  std::string registry;   // where it came from
  std::string owner;      // the tenant that has it for itself; empty: everybody

  // The result of Hex(), once it was computed; the other fields don't change
  // afterwards.
  std::string hex = std::string();

  // Returns 64 hexadecimal digits.
  std::string Hex() const;
};

struct LayerStoreOptions {
  uint64_t max_bytes = uint64_t{8} << 30;  // of all layers' files together
  absl::Duration max_age = absl::Hours(24 * 30);  // since the last use
  LayerBounds each;
};

struct LayerInfo {
  std::string id;
  policy::Ecosystem ecosystem = policy::Ecosystem::kPython;
  // The canonical texts of the sets that this layer stands for; there are
  // several where they install the same files.
  std::vector<std::string> libraries;
  uint64_t bytes = 0;
  uint64_t files = 0;
  absl::Time created;
  absl::Time last_used;
  bool in_use = false;
};

// Installed sets of libraries that are kept over restarts: a directory of the
// host with a subdirectory for each layer, named by the layer's id. All of it
// belongs to the server's uid; jails see a layer's tree read-only. A directory
// that isn't complete never has a layer's name. Thread-safe; methods block on
// the disk.
class LayerStore {
 private:
  struct Held {
    std::string id;
    std::string path;
  };

 public:
  // Keeps a layer from being evicted and removed. It may outlive the store.
  class Pin {
   public:
    const std::string& id() const { return held_->id; }
    // The tree that is to be mounted.
    const std::string& path() const { return held_->path; }

   private:
    friend class LayerStore;
    explicit Pin(std::shared_ptr<const Held> held) : held_(std::move(held)) {}
    std::shared_ptr<const Held> held_;
  };

  // A directory to install into. It is removed with this object unless it was
  // committed.
  class Staging {
   public:
    Staging(Staging&& other) noexcept
        : own_(std::exchange(other.own_, std::string())) {}
    Staging& operator=(Staging&&) = delete;
    ~Staging();
    std::string path() const { return own_ + "/tree"; }

   private:
    friend class LayerStore;
    explicit Staging(std::string own) : own_(std::move(own)) {}
    std::string own_;  // empty once it was committed
  };

  // Makes the directory as root, before the server gives up its rights, and
  // removes what was left unfinished there. FAILED_PRECONDITION: the directory
  // belongs to somebody other than root and `owner`, or another daemon uses it.
  static absl::StatusOr<std::unique_ptr<LayerStore>> Open(
      const std::string& directory, uid_t owner, gid_t group,
      const LayerStoreOptions& options);
  LayerStore(const LayerStore&) = delete;
  LayerStore& operator=(const LayerStore&) = delete;

  // Returns the layer of a key as it was committed, and notes that it is used.
  // Unless the kernel says that nothing was touched since the last check
  // (LayerWatch), the layer is checked for files that were touched; when it is
  // found for the first time since the start, or when any file was touched, all
  // its files are read. A layer that has changed is dropped and logged; the
  // result is then absent, as for a layer that was never there.
  std::optional<Pin> Find(const LayerKey& key) ABSL_LOCKS_EXCLUDED(mutex_);

  // Makes a directory to install into. RESOURCE_EXHAUSTED: the disk is full.
  absl::StatusOr<Staging> Begin() ABSL_LOCKS_EXCLUDED(mutex_);

  // Makes a layer of what was installed, completely or not at all. It makes
  // room by evicting the layers that have been unused the longest.
  // INVALID_ARGUMENT: there is nothing in it, or something that a layer can't
  // have (see ScanLayer). RESOURCE_EXHAUSTED: it is too much for a layer, for
  // the store beside the layers in use, or for the disk.
  absl::StatusOr<Pin> Commit(const LayerKey& key, Staging staging)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Sorted by id.
  std::vector<LayerInfo> List() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Removes a layer. NOT_FOUND: there is no such layer; FAILED_PRECONDITION: it
  // is in use.
  absl::Status Remove(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);

  // Removes the layers that have been unused for max_age. To be called now and
  // then.
  void EvictOld() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Layer {
    std::shared_ptr<const Held> held;
    LayerInfo info;  // but for `libraries` and `in_use`
    std::map<std::string, std::string> keys;  // with each one's libraries
    // The last use noted on the disk.
    absl::Time noted_use = absl::InfinitePast();
    bool read_since_start = false;
  };
  struct Gone {
    std::shared_ptr<const Held> held;
    std::string path;
  };

  LayerStore(std::string path, os::Fd directory,
             const LayerStoreOptions& options)
      : path_(std::move(path)),
        directory_(std::move(directory)),
        options_(options) {}

  void Load() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<Layer> LoadOne(const std::string& id) const;
  absl::Status WriteRecord(const Layer& layer, const std::string& own) const;
  // Reads the layer's files. Where only their state on the disk changed, notes
  // the new state.
  absl::Status ReadAll(const Held& held) const;
  bool LooksGood(const Held& held) const;
  // Begins to watch a layer. Called before the layer is checked.
  LayerWatch::Ticket Watch(const Held& held);
  // Right only for callers that hold no further reference to the layer's
  // `Held`.
  static bool InUse(const Layer& layer) { return layer.held.use_count() > 1; }

  absl::StatusOr<Pin> Adopt(const LayerKey& key, Layer layer,
                            const std::string& own)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status MakeRoom(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RecordUse(Layer& layer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the key lead to this layer and to no other.
  void AssignKey(const std::string& key, const std::string& id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the layer out of the tables and its name away; RemoveGone removes its
  // files.
  void Forget(const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Drop(Pin pin, const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);
  void RemoveGone() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string path_;
  const os::Fd directory_;  // locked
  const LayerStoreOptions options_;
  LayerWatch watch_;

  mutable absl::Mutex mutex_;
  std::map<std::string, Layer> layers_ ABSL_GUARDED_BY(mutex_);     // by id
  std::map<std::string, std::string> ids_ ABSL_GUARDED_BY(mutex_);  // by key
  LruIndex order_ ABSL_GUARDED_BY(mutex_);
  std::vector<Gone> gone_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_name_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LAYERS_LAYER_STORE_H_
