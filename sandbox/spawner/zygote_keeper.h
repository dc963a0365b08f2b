#ifndef SANDGLASS_SANDBOX_SPAWNER_ZYGOTE_KEEPER_H_
#define SANDGLASS_SANDBOX_SPAWNER_ZYGOTE_KEEPER_H_

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "internal/spawner.pb.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/runner_protocol.h"

namespace sandglass::sandbox {

// Keeps a yard's zygote alive: starts it, starts another when it has died or
// has forked enough, kills one that hangs, and copies its output to the log.
// The spawner polls its descriptors. Single-threaded.
class ZygoteKeeper {
 public:
  explicit ZygoteKeeper(const internal::SpawnerConfig& config);

  // Says that somebody wants a runner: starts the first zygote even before its
  // time.
  void RequestStart();
  // Starts what is missing and kills what hangs. Call it often; it does nothing
  // while all is well.
  void Tend();
  // Orders a runner that gets `filter` (struct sock_filter[]); the filter's
  // length is filled in here. `fds` are as FillOrder says. Returns false and
  // sets errno when no zygote can accept it now: EAGAIN while one is being
  // started.
  bool Order(FillOrder order, const std::string& filter,
             absl::Span<const int> fds);
  // True when a zygote can accept orders.
  bool Serves() const;
  // How many were started, and how many ended without being told to.
  uint64_t starts() const { return starts_; }
  uint64_t deaths() const { return deaths_; }
  // True while one is being started that may be ready in a moment.
  bool Comes() const;
  // True while the pid of a runner hasn't been reported yet.
  bool OwesReplies() const;
  // Returns true if this process was a zygote; the next Tend starts another.
  bool HandleDeath(pid_t pid);

  // Adds what has to be polled. Call CollectReplies after any of it was ready.
  void AddPolls(std::vector<struct pollfd>& polls) const;
  std::vector<FillReply> CollectReplies();
  // How long until Tend may have something to do, in milliseconds; -1: for
  // ever.
  int WaitForTend() const;

 private:
  struct Zygote {
    pid_t pid = -1;
    os::Fd pidfd;
    os::Fd channel;
    os::Fd words;      // the reading end of its output
    std::string line;  // output that has no line end yet
    bool ready = false;
    // It accepts no more orders, but its replies and output are still read.
    bool retired = false;
    uint32_t orders = 0;
    uint32_t replies = 0;
    // Since when it has owed something: its start, a reply, or its end.
    int64_t since_ns = 0;
  };
  static bool Hangs(const Zygote& zygote, int64_t now);

  // Runs in the child; returns only on failure, with errno set.
  void Become(int channel, int input, int output) const;
  std::optional<Zygote> Start();
  bool NeedsOne() const;
  // The zygote that gets the orders, or nullptr.
  Zygote* Serving();
  // Ends a zygote that broke the protocol or closed its end, and so is of no
  // use.
  static void GiveUp(Zygote& zygote);
  void RetireAllButNewest();
  static void PassWords(Zygote& zygote);

  const internal::Zygote& config_;
  std::vector<Zygote> zygotes_;  // the oldest first
  int64_t retry_at_ns_;
  int64_t retry_after_ns_ = 0;  // grows while zygotes die before any order
  uint64_t starts_ = 0;
  uint64_t deaths_ = 0;
  bool delayed_;  // its first start isn't due or wanted yet
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_SPAWNER_ZYGOTE_KEEPER_H_
