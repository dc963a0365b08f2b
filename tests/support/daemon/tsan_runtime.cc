// ThreadSanitizer's settings, and what it must be told of absl::Mutex and
// absl::CondVar. Linked into every program of the tsan build, and into no
// other.
//
// Debian's abseil isn't built for ThreadSanitizer, so without this every datum
// that a Mutex guards would be reported as a race. The definitions here come
// before the shared library's, for our code and for gRPC's; each calls the
// library's own between the annotations "what was done before is released" and
// "what others released is seen". Readers release too: that can hide a race
// between a reader and another reader, and invents none.
//
// Conditions are evaluated inside the library, also by the thread that
// unlocks, under the lock: reads there are left out.

#include <dlfcn.h>

#include <cstdlib>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);

// gRPC, protobuf and abseil are Debian's, built without ThreadSanitizer: what
// they do to memory through memmove and the like is not seen whole, so it is
// not judged. TSAN_OPTIONS in the environment adds to this.
const char* __tsan_default_options() {
  return "ignore_noninstrumented_modules=1:halt_on_error=0:"
         "second_deadlock_stack=1";
}

// What orders the operations of a callback call, a completion queue and a
// count, is inside the library. Left out is what gRPC itself does below these:
// our code calls them, or is destroyed by the first.
const char* __tsan_default_suppressions() {
  return "race:CallOnDone\n"
         "race:ServerCallbackUnaryImpl::Finish\n"
         "race:ServerCallbackWriterImpl::Finish\n"
         "race:ServerCallbackWriterImpl::Write\n";
}
}

namespace {

// The library's own function of this mangled name.
template <typename Function>
Function* Real(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  // Another version of the package: without the function nothing can work.
  if (found == nullptr) abort();
  return reinterpret_cast<Function*>(found);
}

class IgnoreReads {
 public:
  IgnoreReads() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
  ~IgnoreReads() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
  IgnoreReads(const IgnoreReads&) = delete;
  IgnoreReads& operator=(const IgnoreReads&) = delete;
};

}  // namespace

// Looks the function up once and calls it with reads left out. A macro, since
// the pointer must be a static of each caller.
#define SANDGLASS_CALL_REAL(result, parameters, mangled, ...)   \
  [&]() -> result {                                             \
    static auto* const real = Real<result parameters>(mangled); \
    IgnoreReads ignore;                                         \
    return real(__VA_ARGS__);                                   \
  }()

#define SANDGLASS_MUTEX "_ZN4absl7debian35Mutex"
#define SANDGLASS_CONDVAR "_ZN4absl7debian37CondVar"

namespace absl {

void Mutex::Lock() {
  SANDGLASS_CALL_REAL(void, (Mutex*), SANDGLASS_MUTEX "4LockEv", this);
  __tsan_acquire(this);
}

void Mutex::Unlock() {
  __tsan_release(this);
  SANDGLASS_CALL_REAL(void, (Mutex*), SANDGLASS_MUTEX "6UnlockEv", this);
}

bool Mutex::TryLock() {
  const bool locked =
      SANDGLASS_CALL_REAL(bool, (Mutex*), SANDGLASS_MUTEX "7TryLockEv", this);
  if (locked) __tsan_acquire(this);
  return locked;
}

void Mutex::ReaderLock() {
  SANDGLASS_CALL_REAL(void, (Mutex*), SANDGLASS_MUTEX "10ReaderLockEv", this);
  __tsan_acquire(this);
}

void Mutex::ReaderUnlock() {
  __tsan_release(this);
  SANDGLASS_CALL_REAL(void, (Mutex*), SANDGLASS_MUTEX "12ReaderUnlockEv", this);
}

bool Mutex::ReaderTryLock() {
  const bool locked = SANDGLASS_CALL_REAL(
      bool, (Mutex*), SANDGLASS_MUTEX "13ReaderTryLockEv", this);
  if (locked) __tsan_acquire(this);
  return locked;
}

void Mutex::LockWhen(const Condition& condition) {
  SANDGLASS_CALL_REAL(void, (Mutex*, const Condition&),
                      SANDGLASS_MUTEX "8LockWhenERKNS0_9ConditionE", this,
                      condition);
  __tsan_acquire(this);
}

void Mutex::ReaderLockWhen(const Condition& condition) {
  SANDGLASS_CALL_REAL(void, (Mutex*, const Condition&),
                      SANDGLASS_MUTEX "14ReaderLockWhenERKNS0_9ConditionE",
                      this, condition);
  __tsan_acquire(this);
}

bool Mutex::LockWhenWithTimeout(const Condition& condition, Duration timeout) {
  const bool met = SANDGLASS_CALL_REAL(
      bool, (Mutex*, const Condition&, Duration),
      SANDGLASS_MUTEX "19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE",
      this, condition, timeout);
  __tsan_acquire(this);
  return met;
}

bool Mutex::ReaderLockWhenWithTimeout(const Condition& condition,
                                      Duration timeout) {
  const bool met = SANDGLASS_CALL_REAL(
      bool, (Mutex*, const Condition&, Duration),
      SANDGLASS_MUTEX
      "25ReaderLockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE",
      this, condition, timeout);
  __tsan_acquire(this);
  return met;
}

bool Mutex::LockWhenWithDeadline(const Condition& condition, Time deadline) {
  const bool met = SANDGLASS_CALL_REAL(
      bool, (Mutex*, const Condition&, Time),
      SANDGLASS_MUTEX "20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE",
      this, condition, deadline);
  __tsan_acquire(this);
  return met;
}

bool Mutex::ReaderLockWhenWithDeadline(const Condition& condition,
                                       Time deadline) {
  const bool met = SANDGLASS_CALL_REAL(
      bool, (Mutex*, const Condition&, Time),
      SANDGLASS_MUTEX
      "26ReaderLockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE",
      this, condition, deadline);
  __tsan_acquire(this);
  return met;
}

void Mutex::Await(const Condition& condition) {
  __tsan_release(this);
  SANDGLASS_CALL_REAL(void, (Mutex*, const Condition&),
                      SANDGLASS_MUTEX "5AwaitERKNS0_9ConditionE", this,
                      condition);
  __tsan_acquire(this);
}

bool Mutex::AwaitWithTimeout(const Condition& condition, Duration timeout) {
  __tsan_release(this);
  const bool met = SANDGLASS_CALL_REAL(
      bool, (Mutex*, const Condition&, Duration),
      SANDGLASS_MUTEX "16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE",
      this, condition, timeout);
  __tsan_acquire(this);
  return met;
}

bool Mutex::AwaitWithDeadline(const Condition& condition, Time deadline) {
  __tsan_release(this);
  const bool met = SANDGLASS_CALL_REAL(
      bool, (Mutex*, const Condition&, Time),
      SANDGLASS_MUTEX "17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE", this,
      condition, deadline);
  __tsan_acquire(this);
  return met;
}

void CondVar::Wait(Mutex* mutex) {
  __tsan_release(mutex);
  SANDGLASS_CALL_REAL(void, (CondVar*, Mutex*),
                      SANDGLASS_CONDVAR "4WaitEPNS0_5MutexE", this, mutex);
  __tsan_acquire(mutex);
}

bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  __tsan_release(mutex);
  const bool expired = SANDGLASS_CALL_REAL(
      bool, (CondVar*, Mutex*, Duration),
      SANDGLASS_CONDVAR "15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE", this,
      mutex, timeout);
  __tsan_acquire(mutex);
  return expired;
}

bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  __tsan_release(mutex);
  const bool expired = SANDGLASS_CALL_REAL(
      bool, (CondVar*, Mutex*, Time),
      SANDGLASS_CONDVAR "16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE", this,
      mutex, deadline);
  __tsan_acquire(mutex);
  return expired;
}

}  // namespace absl
