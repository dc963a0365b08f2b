#include "server/job/library_checks.h"

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "policy/libraries/library_lock.h"
#include "policy/libraries/library_policy.h"
#include "server/base/errors.h"

namespace sandglass::server {

namespace {

// Recent decisions are kept, since models ask for the same few sets again and
// again. Thread-safe.
class Memory {
 public:
  // The key holds the policy, so that no other policy can get the same address.
  using Key = std::tuple<std::shared_ptr<const policy::LibraryPolicy>,
                         policy::Ecosystem, std::vector<std::string>>;
  using Decided = std::shared_ptr<const DecidedLibraries>;

  Decided Find(const Key& key) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    const auto found = known_.find(key);
    return found == known_.end() ? nullptr : found->second;
  }
  void Keep(const Key& key, Decided decided) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    if (known_.size() >= kMax) known_.clear();
    known_.insert_or_assign(key, std::move(decided));
  }

 private:
  static constexpr size_t kMax = 256;
  absl::Mutex mutex_;
  absl::flat_hash_map<Key, Decided> known_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::optional<LibraryRequest>> CheckLibraries(
    const LibraryWish& wish, const policy::Language* language,
    const policy::Profile* profile, Violations& violations) {
  if (wish.empty() || language == nullptr) return std::nullopt;
  const std::optional<policy::Ecosystem> ecosystem =
      policy::EcosystemOfLanguage(language->id);
  if (!ecosystem || !language->libraries) {
    violations.push_back(
        {wish.libraries.empty() ? "library_lock" : "libraries",
         absl::StrCat(language->name, " has none to ask for")});
    return std::nullopt;
  }
  const auto wanted = [&](Memory::Decided decided) {
    const bool offline = decided->offline;
    return LibraryRequest{
        std::move(decided), offline,
        profile->image == policy::kHostImage ? "" : profile->image};
  };
  static Memory& memory = *new Memory();
  Memory::Key key;
  if (profile != nullptr && wish.lock.empty()) {
    key = {profile->libraries, *ecosystem, wish.libraries};
    if (auto known = memory.Find(key)) return wanted(std::move(known));
  }
  const absl::StatusOr<policy::LibrarySet> set =
      policy::ParseLibraryRequest(*ecosystem, wish.libraries, wish.lock);
  if (!set.ok()) {
    violations.push_back({std::string(policy::LibraryErrorField(set.status())),
                          std::string(set.status().message())});
    return std::nullopt;
  }
  if (profile == nullptr) return std::nullopt;
  static const policy::LibraryPolicy kNone;
  policy::LibraryDecision decision = policy::Decide(
      profile->libraries == nullptr ? kNone : *profile->libraries, *set);
  if (!decision.allowed) {
    return LibrariesDenied(profile->name, decision.reason);
  }
  std::vector<std::string> names = decision.libraries->ToArguments();
  auto decided = std::make_shared<const DecidedLibraries>(
      DecidedLibraries{.set = *std::move(decision.libraries),
                       .names = std::move(names),
                       .wish = wish,
                       .offline = decision.offline});
  if (wish.lock.empty()) memory.Keep(key, decided);
  return wanted(std::move(decided));
}

}  // namespace sandglass::server
