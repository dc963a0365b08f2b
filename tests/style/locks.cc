// What the compiler must find where a lock is not used as its annotations say
// (style.cmake).

#include "absl/synchronization/mutex.h"

class Counter {
 public:
  int Next() {
#ifndef UNGUARDED
    absl::MutexLock lock(&mutex_);
#endif
#ifdef DISORDERED
    absl::MutexLock late(&first_);
#endif
    return ++count_;
  }

 private:
  absl::Mutex first_ ABSL_ACQUIRED_BEFORE(mutex_);
  absl::Mutex mutex_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
};

int main() { return Counter().Next(); }
