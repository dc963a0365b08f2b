#include "server/layers/layer_builds.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sandglass::server {
namespace {

// How soon a cancelled caller stops waiting.
constexpr absl::Duration kPoll = absl::Milliseconds(20);

}  // namespace

LayerBuilds::~LayerBuilds() {
  std::vector<std::shared_ptr<Running>> threads;
  {
    absl::MutexLock lock(&mutex_);
    threads.swap(threads_);
  }
  for (const auto& running : threads) {
    running->cancel.Cancel(policy::KillReason::kShutdown);
  }
  for (const auto& running : threads) running->thread.join();
}

absl::StatusOr<LayerStore::Pin> LayerBuilds::GetOrBuild(
    const LayerKey& key, const Build& build, const Progress& progress,
    CancelToken& cancel) {
  JoinEnded();
  if (std::optional<LayerStore::Pin> pin = store_.Find(key)) {
    return *std::move(pin);
  }
  const absl::StatusOr<std::shared_ptr<Running>> running = Join(key, build);
  if (!running.ok()) return running.status();
  return Wait(key.Hex(), **running, progress, cancel);
}

absl::StatusOr<std::shared_ptr<LayerBuilds::Running>> LayerBuilds::Join(
    const LayerKey& key, const Build& build) {
  const std::string hex = key.Hex();
  absl::MutexLock lock(&mutex_);
  const auto under_way = running_.find(hex);
  if (under_way != running_.end()) {
    ++under_way->second->waiting;
    return under_way->second;
  }
  const auto failure = failures_.find(hex);
  if (failure != failures_.end()) {
    if (Now() < failure->second.until) return failure->second.status;
    failures_.erase(failure);
  }
  auto running = std::make_shared<Running>();
  running->waiting = 1;
  try {
    running->thread =
        std::thread([this, key, build, running] { Run(key, build, running); });
  } catch (const std::system_error& error) {
    return absl::UnavailableError(
        absl::StrCat("no thread can be started: ", error.what()));
  }
  running_[hex] = running;
  threads_.push_back(running);
  return running;
}

absl::StatusOr<LayerStore::Pin> LayerBuilds::Wait(const std::string& key,
                                                  Running& running,
                                                  const Progress& progress,
                                                  CancelToken& cancel) {
  uint64_t seen = 0;
  while (true) {
    std::vector<std::string> lines;
    std::optional<absl::StatusOr<LayerStore::Pin>> result;
    {
      absl::MutexLock lock(&mutex_);
      const auto has_news = [&] {
        return running.result.has_value() || running.said > seen;
      };
      mutex_.AwaitWithTimeout(absl::Condition(&has_news), kPoll);
      const uint64_t first = running.said - running.lines.size();
      for (uint64_t i = std::max(seen, first); i < running.said; ++i) {
        lines.push_back(running.lines[i - first]);
      }
      seen = running.said;
      result = running.result;
      const bool leaves = cancel.reason().has_value();
      if (result || leaves) Leave(key, running);
      if (!result && leaves) {
        return absl::CancelledError("cancelled while libraries were installed");
      }
    }
    if (progress) {
      for (const std::string& line : lines) progress(line);
    }
    if (result) return *std::move(result);
  }
}

void LayerBuilds::Leave(const std::string& key, Running& running) {
  if (--running.waiting > 0) return;
  if (running.result) {
    // The build's thread is joined later; the layer isn't in use until then.
    running.result = absl::CancelledError("nobody waits for it");
    return;
  }
  running.cancel.Cancel(policy::KillReason::kCancelled);
  // A caller that comes now gets a build of its own, not the end of this
  // cancelled one.
  const auto place = running_.find(key);
  if (place != running_.end() && place->second.get() == &running) {
    running_.erase(place);
  }
}

void LayerBuilds::Run(const LayerKey& key, const Build& build,
                      const std::shared_ptr<Running>& running) {
  absl::StatusOr<LayerStore::Pin> result = BuildOne(key, build, *running);
  const std::string hex = key.Hex();
  absl::MutexLock lock(&mutex_);
  const MonotonicTime now = Now();
  std::erase_if(failures_,
                [&](const auto& each) { return each.second.until < now; });
  // A build that was cancelled says nothing about the libraries.
  if (!result.ok() && !running->cancel.reason()) {
    failures_[hex] = {result.status(), After(now, remember_failure_)};
  }
  const auto place = running_.find(hex);
  if (place != running_.end() && place->second == running) {
    running_.erase(place);
  }
  if (running->waiting == 0) {
    result = absl::CancelledError("nobody waits for it");
  }
  running->result = std::move(result);
}

absl::StatusOr<LayerStore::Pin> LayerBuilds::BuildOne(const LayerKey& key,
                                                      const Build& build,
                                                      Running& running) {
  // Another build may have ended since the caller looked.
  if (std::optional<LayerStore::Pin> pin = store_.Find(key)) {
    return *std::move(pin);
  }
  absl::StatusOr<LayerStore::Staging> staging = store_.Begin();
  if (!staging.ok()) return staging.status();
  const absl::Status built = build(
      *staging,
      [&](std::string_view line) {
        absl::MutexLock lock(&mutex_);
        running.lines.emplace_back(line.substr(0, kMaxLine));
        ++running.said;
        if (running.lines.size() > kMaxLines) running.lines.pop_front();
      },
      running.cancel);
  if (!built.ok()) return built;
  return store_.Commit(key, *std::move(staging));
}

void LayerBuilds::JoinEnded() {
  std::vector<std::shared_ptr<Running>> ended;
  {
    absl::MutexLock lock(&mutex_);
    const auto first_ended = std::stable_partition(
        threads_.begin(), threads_.end(),
        [](const auto& running) { return !running->result.has_value(); });
    ended.assign(first_ended, threads_.end());
    threads_.erase(first_ended, threads_.end());
  }
  for (const auto& running : ended) running->thread.join();
}

}  // namespace sandglass::server
