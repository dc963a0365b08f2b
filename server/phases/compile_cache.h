#ifndef SANDGLASS_SERVER_PHASES_COMPILE_CACHE_H_
#define SANDGLASS_SERVER_PHASES_COMPILE_CACHE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/base/lru_index.h"
#include "server/images/toolchain.h"
#include "server/job/job.h"
#include "server/phases/compile_store.h"
#include "server/phases/compiled_file.h"

namespace sandglass::server {

struct CompileCacheOptions {
  // On the disk; 0: there is no cache.
  uint64_t max_bytes = uint64_t{256} << 20;
  // Of that, held in memory as well.
  uint64_t max_memory_bytes = uint64_t{32} << 20;
  // How often another daemon's files are looked for, and uses noted, at most.
  absl::Duration upkeep_interval = absl::Seconds(30);
};

struct CompileCacheState {
  CompileCacheOptions options;
  uint64_t entries = 0;
  uint64_t bytes = 0;
  uint64_t memory_entries = 0;
  uint64_t memory_bytes = 0;
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t not_cacheable = 0;
  uint64_t stored = 0;
  uint64_t evicted = 0;
  uint64_t dropped = 0;
  uint64_t write_failures = 0;
};

// Keeps what compilers made, by all that it depends on, over restarts. Reading
// is on the caller's thread; writing, eviction and upkeep are on one of its
// own. Thread-safe.
class CompileCache {
 public:
  // The largest result that is kept, with its artifacts and outputs.
  static constexpr uint64_t kMaxEntryBytes = uint64_t{32} << 20;

  // `image_state` as in Toolchain.
  CompileCache(CompileStore store, std::string image_state,
               CompileCacheOptions options, PackageDatabase packages = {});
  // Writes what waits to be written.
  ~CompileCache();
  CompileCache(const CompileCache&) = delete;
  CompileCache& operator=(const CompileCache&) = delete;

  // An image beside the host's, by its name, with its state and where the host
  // has it. Before Start.
  void AddImage(const std::string& name, std::string state, std::string root);

  // Counts what is there and makes it keep to the bound. Call once.
  void Start();

  // The key of a job's compile phase, by the toolchain as it is now; empty when
  // it is not to be kept, or the toolchain can't be told.
  std::optional<std::string> KeyOf(const Job& job) const;

  // What an earlier compile made; null when there is none. What is not as it
  // was written is removed, logged, and never returned.
  std::shared_ptr<const Compiled> Find(const std::string& key)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Keeps a result, from now on in memory if it is small, later on the disk.
  // Nothing that fails there is the caller's business.
  void Keep(const std::string& key, std::shared_ptr<const Compiled> compiled)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Counts a run that KeyOf had nothing for.
  void CountNotCacheable() ABSL_LOCKS_EXCLUDED(mutex_);

  CompileCacheState State() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until all that was kept so far is on the disk, or can't be; false
  // when the timeout passes first.
  bool Flush(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Waiting {
    std::string key;
    std::shared_ptr<const Compiled> compiled;
  };

  void Remember(const std::string& key,
                std::shared_ptr<const Compiled> compiled)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Drop(const std::string& key, const std::string& reason)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void WriterLoop() ABSL_LOCKS_EXCLUDED(mutex_);
  void Write(const Waiting& next) ABSL_LOCKS_EXCLUDED(mutex_);
  void Evict() ABSL_LOCKS_EXCLUDED(mutex_);
  // Something was written or used since the last upkeep.
  bool UpkeepDue() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes over what is on the disk, where other daemons write too.
  void Upkeep() ABSL_LOCKS_EXCLUDED(mutex_);
  // Uses become the files' times.
  void NoteUses() ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !waiting_.empty();
  }
  bool Idle() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return waiting_.empty() && !writing_;
  }

  const CompileStore store_;
  std::map<std::string, Toolchain> toolchains_;  // by image; "": the host's
  const CompileCacheOptions options_;
  const uint64_t max_entry_bytes_;

  mutable absl::Mutex mutex_;
  LruIndex disk_ ABSL_GUARDED_BY(mutex_);
  LruIndex memory_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::shared_ptr<const Compiled>> held_
      ABSL_GUARDED_BY(mutex_);
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  uint64_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Keys whose files were of use since the last upkeep.
  std::set<std::string> used_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // Since the last upkeep.
  bool wrote_ ABSL_GUARDED_BY(mutex_) = false;
  // Its counts; the sizes are taken from above.
  CompileCacheState state_ ABSL_GUARDED_BY(mutex_);
  std::thread writer_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_PHASES_COMPILE_CACHE_H_
