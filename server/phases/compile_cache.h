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
  // The bound on the disk; 0 means that there is no cache.
  uint64_t max_bytes = uint64_t{256} << 20;
  // How much of that may be held in memory as well.
  uint64_t max_memory_bytes = uint64_t{32} << 20;
  // The least time between two upkeeps, which look for files of other daemons
  // and note uses.
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

// Keeps the results of compilers over restarts, under a key made of everything
// that they depend on. Reading happens on the caller's thread; writing,
// eviction and upkeep happen on a thread of its own. Thread-safe.
class CompileCache {
 public:
  // The largest result that is kept, including its artifacts and outputs.
  static constexpr uint64_t kMaxEntryBytes = uint64_t{32} << 20;

  // `image_state` is as in Toolchain.
  CompileCache(CompileStore store, const std::string& image_state,
               CompileCacheOptions options,
               const PackageDatabase& packages = {});
  // First writes what still waits to be written.
  ~CompileCache();
  CompileCache(const CompileCache&) = delete;
  CompileCache& operator=(const CompileCache&) = delete;

  // Adds an image besides the host's: its name, its state and where the host
  // has it. Call it before Start.
  void AddImage(const std::string& name, const std::string& state,
                const std::string& root);

  // Counts what is there and evicts what exceeds the bound. Call once.
  void Start();

  // The key of a job's compile phase with the toolchain as it is now. Empty
  // when the result is not to be kept, or when the state of the toolchain can't
  // be told.
  std::optional<std::string> KeyOf(const Job& job) const;

  // Returns what an earlier compile made; null when there is nothing. A file
  // that is not as it was written is removed, logged, and never returned.
  std::shared_ptr<const Compiled> Find(const std::string& key)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Keeps a result: in memory from now on if it is small, and later on the
  // disk. Errors on the way to the disk don't concern the caller.
  void Keep(const std::string& key, std::shared_ptr<const Compiled> compiled)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Counts a run for which KeyOf returned nothing.
  void CountNotCacheable() ABSL_LOCKS_EXCLUDED(mutex_);

  CompileCacheState State() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until everything that was kept so far is on the disk or could not be
  // written. Returns false when the timeout passes first.
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
  // Whether something was written or used since the last upkeep.
  bool UpkeepDue() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes account of what is on the disk, where other daemons write too.
  void Upkeep() ABSL_LOCKS_EXCLUDED(mutex_);
  // Sets the times of the files that were used.
  void RecordUses() ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !waiting_.empty();
  }
  bool Idle() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return waiting_.empty() && !writing_;
  }

  const CompileStore store_;
  // By image; "" stands for the host's.
  std::map<std::string, Toolchain> toolchains_;
  const CompileCacheOptions options_;
  const uint64_t max_entry_bytes_;

  mutable absl::Mutex mutex_;
  LruIndex disk_ ABSL_GUARDED_BY(mutex_);
  LruIndex memory_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::shared_ptr<const Compiled>> held_
      ABSL_GUARDED_BY(mutex_);
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  uint64_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // The keys whose files were used since the last upkeep.
  std::set<std::string> used_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // Whether anything was written since the last upkeep.
  bool wrote_ ABSL_GUARDED_BY(mutex_) = false;
  // Only its counts are kept here; the sizes are taken from the members above.
  CompileCacheState state_ ABSL_GUARDED_BY(mutex_);
  std::thread writer_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_PHASES_COMPILE_CACHE_H_
