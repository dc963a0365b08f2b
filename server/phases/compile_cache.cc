#include "server/phases/compile_cache.h"

#include <algorithm>
#include <vector>

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/phases/compile_key.h"

namespace sandglass::server {
namespace {

// Results that wait for the disk take memory; beyond this, when the disk is
// slow, results are lost.
constexpr uint64_t kMaxWaitingBytes = uint64_t{64} << 20;
// One result may take at most this part of the memory, so that no single
// program pushes the others out.
constexpr uint64_t kMemoryShare = 4;

std::string Short(const std::string& key) { return key.substr(0, 12); }

}  // namespace

CompileCache::CompileCache(CompileStore store, const std::string& image_state,
                           CompileCacheOptions options,
                           const PackageDatabase& packages)
    : store_(std::move(store)),
      options_(options),
      max_entry_bytes_(std::min(kMaxEntryBytes, options.max_bytes)) {
  toolchains_.try_emplace("", image_state, packages);
}

void CompileCache::AddImage(const std::string& name, const std::string& state,
                            const std::string& root) {
  toolchains_.try_emplace(name, state, PackageDatabase(), root);
}

CompileCache::~CompileCache() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (writer_.joinable()) writer_.join();
}

void CompileCache::Start() {
  Upkeep();
  Evict();
  const CompileCacheState state = State();
  Log(LogLevel::kInfo, "compile_cache",
      {{"directory", store_.directory()},
       {"entries", state.entries},
       {"bytes", state.bytes},
       {"max_bytes", options_.max_bytes}});
  writer_ = std::thread([this] { WriterLoop(); });
}

std::optional<std::string> CompileCache::KeyOf(const Job& job) const {
  if (!MayKeepCompile(job)) return std::nullopt;
  const CompileCaching& caching = *job.compile->caching;
  const auto image = toolchains_.find(caching.image);
  if (image == toolchains_.end()) return std::nullopt;
  const std::optional<std::string> toolchain =
      image->second.Identity(caching.executables, caching.rules.reads);
  if (!toolchain) return std::nullopt;
  return CompileKey(job, *toolchain);
}

std::shared_ptr<const Compiled> CompileCache::Find(const std::string& key) {
  {
    absl::MutexLock lock(&mutex_);
    if (const auto it = held_.find(key); it != held_.end()) {
      memory_.Use(key);
      if (disk_.Use(key)) used_.insert(key);
      ++state_.hits;
      return it->second;
    }
  }
  // The disk is read even when the key isn't known: another daemon may have
  // written it.
  const absl::StatusOr<std::string> bytes = store_.Read(key, max_entry_bytes_);
  absl::StatusOr<Compiled> compiled =
      bytes.ok() ? DecodeCompiled(key, *bytes) : bytes.status();
  if (!compiled.ok()) {
    const absl::Status& problem = compiled.status();
    if (absl::IsDataLoss(problem)) Drop(key, std::string(problem.message()));
    absl::MutexLock lock(&mutex_);
    ++state_.misses;
    return nullptr;
  }
  compiled->Seal();
  auto result = std::make_shared<const Compiled>(*std::move(compiled));
  absl::MutexLock lock(&mutex_);
  disk_.Put(key, bytes->size());
  used_.insert(key);
  Remember(key, result);
  ++state_.hits;
  return result;
}

void CompileCache::Remember(const std::string& key,
                            std::shared_ptr<const Compiled> compiled) {
  const uint64_t bytes = compiled->bytes();
  if (bytes > options_.max_memory_bytes / kMemoryShare) return;
  held_[key] = std::move(compiled);
  memory_.Put(key, bytes);
  while (memory_.bytes() > options_.max_memory_bytes) {
    const std::string oldest = memory_.oldest();
    held_.erase(oldest);
    memory_.Erase(oldest);
  }
}

void CompileCache::Drop(const std::string& key, const std::string& reason) {
  const bool removed = store_.Remove(key);
  Log(LogLevel::kWarning, "compile_cache_dropped",
      {{"directory", store_.directory()},
       {"file", key},
       {"reason", reason},
       {"removed", removed}});
  absl::MutexLock lock(&mutex_);
  disk_.Erase(key);
  used_.erase(key);
  ++state_.dropped;
}

void CompileCache::Keep(const std::string& key,
                        std::shared_ptr<const Compiled> compiled) {
  const uint64_t bytes = compiled->bytes();
  if (bytes > max_entry_bytes_) return;
  absl::MutexLock lock(&mutex_);
  Remember(key, compiled);
  if (stopping_ || waiting_bytes_ + bytes > kMaxWaitingBytes) {
    ++state_.write_failures;
    return;
  }
  waiting_bytes_ += bytes;
  waiting_.push_back({key, std::move(compiled)});
}

void CompileCache::CountNotCacheable() {
  absl::MutexLock lock(&mutex_);
  ++state_.not_cacheable;
}

CompileCacheState CompileCache::State() const {
  absl::MutexLock lock(&mutex_);
  CompileCacheState state = state_;
  state.options = options_;
  state.entries = disk_.size();
  state.bytes = disk_.bytes();
  state.memory_entries = memory_.size();
  state.memory_bytes = memory_.bytes();
  return state;
}

bool CompileCache::Flush(absl::Duration timeout) {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(this, &CompileCache::Idle),
                                 timeout);
}

void CompileCache::WriterLoop() {
  MonotonicTime last_upkeep = Now();
  for (;;) {
    std::optional<Waiting> next;
    bool stopping = false;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(this, &CompileCache::HasWork),
                              options_.upkeep_interval);
      stopping = stopping_;
      if (!waiting_.empty()) {
        next = std::move(waiting_.front());
        waiting_.pop_front();
        waiting_bytes_ -= next->compiled->bytes();
        writing_ = true;
      }
    }
    if (next) {
      Write(*next);
      Evict();
      absl::MutexLock lock(&mutex_);
      writing_ = false;
    }
    if (!next && stopping) break;
    if (Since(last_upkeep) >= options_.upkeep_interval && UpkeepDue()) {
      Upkeep();
      Evict();
      last_upkeep = Now();
    }
  }
  // The next daemon needs to know what was used last.
  RecordUses();
}

bool CompileCache::UpkeepDue() const {
  absl::MutexLock lock(&mutex_);
  return wrote_ || !used_.empty();
}

void CompileCache::RecordUses() {
  std::set<std::string> used;
  {
    absl::MutexLock lock(&mutex_);
    used.swap(used_);
  }
  for (const std::string& key : used) store_.Touch(key);
}

void CompileCache::Write(const Waiting& next) {
  const std::string bytes = EncodeCompiled(next.key, *next.compiled);
  if (bytes.size() > max_entry_bytes_) return;
  const absl::Status written = store_.Write(next.key, bytes);
  absl::MutexLock lock(&mutex_);
  if (written.ok()) {
    disk_.Put(next.key, bytes.size());
    wrote_ = true;
    ++state_.stored;
    return;
  }
  // A full disk stays full for a while, so only the first failure is logged as
  // a warning.
  const bool first = state_.write_failures++ == 0;
  Log(first ? LogLevel::kWarning : LogLevel::kDebug,
      "compile_cache_not_written",
      {{"key", Short(next.key)}, {"error", std::string(written.message())}});
}

void CompileCache::Evict() {
  for (;;) {
    std::string oldest;
    {
      absl::MutexLock lock(&mutex_);
      if (disk_.empty() || disk_.bytes() <= options_.max_bytes) return;
      oldest = disk_.oldest();
      disk_.Erase(oldest);
      used_.erase(oldest);
      held_.erase(oldest);
      memory_.Erase(oldest);
      ++state_.evicted;
    }
    store_.Remove(oldest);
    Log(LogLevel::kDebug, "compile_cache_evicted", {{"key", Short(oldest)}});
  }
}

void CompileCache::Upkeep() {
  RecordUses();
  const std::vector<CompileStore::Found> found = store_.List();
  LruIndex disk;
  for (const CompileStore::Found& file : found) disk.Put(file.key, file.bytes);
  absl::MutexLock lock(&mutex_);
  // Count what was used meanwhile. Files that another daemon wrote and that we
  // found meanwhile are counted the next time.
  for (const std::string& key : used_) disk.Use(key);
  disk_ = std::move(disk);
  wrote_ = false;
}

}  // namespace sandglass::server
