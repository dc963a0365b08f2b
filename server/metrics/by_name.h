#ifndef SANDGLASS_SERVER_METRICS_BY_NAME_H_
#define SANDGLASS_SERVER_METRICS_BY_NAME_H_

#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace sandglass::server {

// What was made for each name. The registry's own look-up of labels allocates
// memory, so what each call needs is looked up here. Thread-safe.
template <typename Made>
class ByName {
 public:
  // Returns what `make` made when the name was new. It lives as long as this
  // object.
  template <typename Make>
  Made& Get(const std::string& name, const Make& make)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto [place, is_new] = made_.try_emplace(name);
    if (is_new) place->second = make();
    return place->second;
  }
  bool Knows(const std::string& name) const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return made_.contains(name);
  }
  size_t size() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return made_.size();
  }

 private:
  mutable absl::Mutex mutex_;
  std::map<std::string, Made> made_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_METRICS_BY_NAME_H_
