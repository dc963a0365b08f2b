#ifndef SANDGLASS_SANDBOX_YARD_YARD_PORT_H_
#define SANDGLASS_SANDBOX_YARD_YARD_PORT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "policy/limits/limits.h"
#include "sandbox/jail/jail.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/wire/yard_stock.h"
#include "sandbox/yard/sandbox.h"
#include "sandbox/yard/yard.h"

namespace sandglass::sandbox {

// The daemon's end of one yard. Callers wait for the answer to their request
// for a jail; one thread reads the channel and distributes the answers.
// Thread-safe.
class YardPort {
 public:
  // How long the last answer of a busy spawner may still be shown.
  static constexpr absl::Duration kStockHolds = absl::Seconds(30);

  // A spawner that has said nothing for kLookEvery is asked for a sign of life,
  // and again after each further kLookEvery. After kMaxLooks questions without
  // an answer it counts as hung. The questions are counted rather than the
  // time, because a machine that stood still proves nothing. In total that is
  // no longer than two waits for a jail.
  static constexpr absl::Duration kLookEvery = absl::Seconds(5);
  static constexpr int kMaxLooks = 6;
  // After this many unanswered questions the spawner counts as silent.
  static constexpr int kLooksToTellOf = 2;

  YardPort(Yard yard, bool has_zygote, uint32_t max_jails, bool traces_calls);
  // Closes the channel: the yard ends with everything in it.
  ~YardPort();

  // The same as the functions of Sandbox, for this yard alone.
  absl::Status StartReader(std::function<void(absl::Status)> on_death,
                           absl::Duration look_every = kLookEvery);
  // Ends the reader's thread. A call of `on_death` that it is in comes to its
  // end first.
  void StopReader();
  // Whether a request for a jail can be carried out at once: the yard needs no
  // zygote, or has one that accepts orders.
  bool Serves() const { return serves_; }
  // Whether it makes no jail any more: its spawner is gone, hangs or broke the
  // protocol.
  bool IsBroken() const { return is_broken_; }
  // Waits until the spawner's process has ended, with which everything in the
  // yard ends, and reaps it. False when that takes longer than it should.
  bool AwaitEnd() const;
  // Whether it has left some questions unanswered, and so may be hung.
  bool IsSilent() const { return unanswered_looks_ >= kLooksToTellOf; }
  absl::StatusOr<std::unique_ptr<Jail>> CreateJail(
      const std::string& template_name, const policy::Limits& limits,
      absl::Duration timeout, FillFor fill_for, const std::string& layer);
  uint32_t live_jails() const;
  bool WaitUntilEmpty(absl::Duration timeout) const;

  // Asks the yard to take stock, unless it was asked already and has not
  // answered yet. Returns the number of the answer to wait for; if the yard
  // can't be asked, the number of one that is there already.
  uint64_t AskStock();
  // Waits until `deadline` (a time of os::SteadyNow) for that answer and
  // returns the latest one, without a kind. nullopt: there is none from the
  // last `at_most_ago`.
  std::optional<YardStock> AwaitStock(uint64_t answer, absl::Time deadline,
                                      absl::Duration at_most_ago = kStockHolds);

 private:
  // Waits until the condition holds or os::MonotonicNanos() has reached `end`.
  // absl::Mutex alone would measure by the wall clock, which may be set
  // meanwhile.
  void AwaitUntil(const absl::Condition& condition, int64_t end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Unavailable() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  absl::Status NoSlot() const;
  // Returns OK when asked to stop, else the reason why the channel can't be
  // used any further.
  absl::Status ReadEvents(absl::Duration look_every);
  absl::Status HandleEvent(os::Packet packet);
  absl::Status RecordStock(YardStock stock)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const bool has_zygote_;
  const bool traces_calls_;
  Yard yard_;
  const uint32_t max_jails_;
  os::Fd stop_;
  std::thread reader_;
  std::atomic<int> unanswered_looks_ = 0;
  std::atomic<bool> serves_;
  std::atomic<bool> is_broken_ = false;
  mutable absl::Mutex mutex_;
  absl::Status broken_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  // Jails that were asked for and aren't yet reported gone.
  std::set<uint64_t> live_ ABSL_GUARDED_BY(mutex_);
  std::set<uint64_t> waiting_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, absl::StatusOr<Jail::Parts>> answers_
      ABSL_GUARDED_BY(mutex_);
  // How often stock was asked for and how often it was answered; the former is
  // at most one more.
  uint64_t stock_questions_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t stock_answers_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<YardStock> stock_ ABSL_GUARDED_BY(mutex_);
  absl::Time stock_time_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_YARD_YARD_PORT_H_
