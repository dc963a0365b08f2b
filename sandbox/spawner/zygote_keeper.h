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

// Keeps a yard's zygote alive: starts it, starts another when it died or has
// forked enough, kills one that hangs, and takes its words to the log. The
// spawner polls for it.
// Single-threaded.
class ZygoteKeeper {
 public:
  explicit ZygoteKeeper(const internal::SpawnerConfig& config);

  // Someone wants a runner: starts the first zygote if it isn't time for it.
  void Want();
  // Starts what is missing and kills what hangs. Call often; does nothing while
  // all is well.
  void Tend();
  // Orders a runner that gets `filter` (struct sock_filter[]), whose length is
  // filled in; `fds` as FillOrder wants them. False with errno when no zygote
  // can take it now: EAGAIN while one is on its way up.
  bool Order(FillOrder order, const std::string& filter,
             absl::Span<const int> fds);
  // True when one can take orders.
  bool Serves() const;
  // Those that were started, and those that ended without being told to.
  uint64_t starts() const { return starts_; }
  uint64_t deaths() const { return deaths_; }
  // True while one is on its way up that may be there in a moment.
  bool Comes() const;
  // True while some runner's pid is still to be told.
  bool OwesReplies() const;
  // True when this was a zygote; the next Tend starts another.
  bool NoteDeath(pid_t pid);

  // Adds what to wait for; TakeReplies after any of it was ready.
  void AddPolls(std::vector<struct pollfd>& polls) const;
  std::vector<FillReply> TakeReplies();
  // Milliseconds until Tend may have something to do; -1: never.
  int WaitForTend() const;

 private:
  struct Zygote {
    pid_t pid = -1;
    os::Fd pidfd;
    os::Fd channel;
    os::Fd words;      // what it prints
    std::string line;  // of that, what has no end yet
    bool ready = false;
    // Serves no more, but its replies and words are still taken.
    bool retired = false;
    uint32_t orders = 0;
    uint32_t replies = 0;
    // When it last began to owe something: its start, a reply, its end.
    int64_t since_ns = 0;
  };
  static bool Hangs(const Zygote& zygote, int64_t now);

  // In the child; returns only on failure, with errno.
  void Become(int channel, int input, int output) const;
  std::optional<Zygote> Start();
  bool NeedsOne() const;
  // The one that gets orders, or nullptr.
  Zygote* Serving();
  // It broke the protocol, or closed its end: it is of no more use.
  static void GiveUp(Zygote& zygote);
  void RetireAllButNewest();
  static void PassWords(Zygote& zygote);

  const internal::Zygote& config_;
  std::vector<Zygote> zygotes_;  // the oldest first
  int64_t retry_at_ns_;
  int64_t retry_after_ns_ = 0;  // grows while zygotes die before they serve
  uint64_t starts_ = 0;
  uint64_t deaths_ = 0;
  bool delayed_;  // its first start is yet to come and nobody wants it
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_SPAWNER_ZYGOTE_KEEPER_H_
