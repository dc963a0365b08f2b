#ifndef SANDGLASS_SANDBOX_JAIL_SOCKET_WATCH_H_
#define SANDGLASS_SANDBOX_JAIL_SOCKET_WATCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// Knows of which jails no process has ever made a socket. The network namespace
// of such a jail is as it was when it was made, so the next jail can have it:
// making one and taking it down costs more than anything else that a jail has
// of its own.
//
// The processes ask before they make a socket (AskBeforeSockets), and a thread
// of this process lets each of them, which takes some 20 microseconds. A jail
// can make kBurst at once and kPerSecond in the long run, since no limit of the
// jail counts this thread's processor time; who asks beyond that waits. A
// signal that comes in this time interrupts the call as it would interrupt any
// slow one. Thread-safe.
class SocketWatch {
 public:
  static constexpr int kBurst = 1000;
  static constexpr int kPerSecond = 1000;

  // What is asked before the sockets of one jail.
  class Listener {
   public:
    Listener(SocketWatch& watch, uint64_t id, os::Fd fd)
        : watch_(watch), id_(id), fd_(std::move(fd)) {}
    ~Listener() { watch_.Forget(id_); }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    // From now on no process behind it can make a socket: one that tries waits
    // until it is killed. Returns whether all have got on without so far. Call
    // when the jail is about to end.
    bool EndUnused() ABSL_LOCKS_EXCLUDED(mutex_);

   private:
    friend class SocketWatch;
    enum class Answered { kYes, kLater, kNoMore };
    // Answers one question, unless there were too many of late.
    Answered Answer(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

    SocketWatch& watch_;
    const uint64_t id_;
    const os::Fd fd_;
    absl::Mutex mutex_;
    bool used_ ABSL_GUARDED_BY(mutex_) = false;
    bool ended_ ABSL_GUARDED_BY(mutex_) = false;
    double left_ ABSL_GUARDED_BY(mutex_) = kBurst;  // it may make now
    absl::Time counted_ ABSL_GUARDED_BY(mutex_);    // when that was so
  };

  // The one watch of this process.
  static SocketWatch& Shared();
  SocketWatch();
  ~SocketWatch() { Stop(); }

  // Both may be called repeatedly, and by several threads. While it is stopped,
  // who asks waits.
  void Start() ABSL_LOCKS_EXCLUDED(starting_, mutex_);
  void Stop() ABSL_LOCKS_EXCLUDED(starting_, mutex_);

  // Lets the processes behind this listener make sockets for as long as the
  // result lives; when it goes, they can make no more. nullptr: there is no
  // room for another.
  std::shared_ptr<Listener> Watch(os::Fd listener) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Work() ABSL_LOCKS_EXCLUDED(mutex_);
  void Serve(const std::shared_ptr<Listener>& listener, uint32_t events);
  // Has the poll report questions of this listener, or not.
  void Report(const Listener& listener, bool questions) const;
  std::shared_ptr<Listener> Find(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Forget(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);

  const os::Fd poll_;  // epoll(7)
  const os::Fd stop_;  // eventfd(2)
  absl::Mutex starting_;
  std::thread thread_ ABSL_GUARDED_BY(starting_);
  // Those that have asked too much, by when they may again. The thread's own.
  std::multimap<absl::Time, std::weak_ptr<Listener>> waiting_;
  absl::Mutex mutex_;
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, std::weak_ptr<Listener>> listeners_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_SOCKET_WATCH_H_
