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

// The daemon's end of one yard. Callers wait for their jail's reply; one thread
// reads the channel and hands replies out. Thread-safe.
class YardPort {
 public:
  // What a busy spawner said may be shown for so long.
  static constexpr absl::Duration kStockHolds = absl::Seconds(30);

  // A spawner that says nothing is asked after each of these, and taken for
  // hung once that was in vain so often. Counted, since a machine that stood
  // still is no reason. Less than it holds up calls that want jails twice.
  static constexpr absl::Duration kLookEvery = absl::Seconds(5);
  static constexpr int kMostLooks = 6;
  // After which it is worth a word.
  static constexpr int kLooksToTellOf = 2;

  YardPort(Yard yard, bool has_zygote, uint32_t max_jails, bool traces_calls);
  // Closes the channel: the yard ends with everything in it.
  ~YardPort();

  // As Sandbox has them, of this yard.
  absl::Status StartReader(std::function<void(absl::Status)> on_death,
                           absl::Duration look_every = kLookEvery);
  // Whether it has let some questions go unanswered, and may be hung.
  bool IsSilent() const { return unanswered_looks_ >= kLooksToTellOf; }
  absl::StatusOr<std::unique_ptr<Jail>> CreateJail(
      const std::string& template_name, const policy::Limits& limits,
      absl::Duration timeout, FillFor fill_for, const std::string& layer);
  uint32_t live_jails() const;
  bool WaitUntilEmpty(absl::Duration timeout) const;

  // Has the yard take stock, unless it was asked already and has not answered.
  // Gives the number of the answer to wait for; one that is there when the yard
  // can't be asked.
  uint64_t AskStock();
  // The latest answer, that one when it comes before `deadline` (of
  // os::SteadyNow); without a kind. nullopt: none came, or none for so long
  // that the spawner must be taken for hung.
  std::optional<YardStock> AwaitStock(uint64_t answer, absl::Time deadline,
                                      absl::Duration at_most_ago = kStockHolds);

 private:
  // Until the condition holds, or os::MonotonicNanos() is `end`: absl::Mutex
  // counts by the wall clock, which may be set meanwhile.
  void AwaitUntil(const absl::Condition& condition, int64_t end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Unavailable() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  absl::Status NoSlot() const;
  // Returns OK when asked to stop, else why the channel can't go on.
  absl::Status ReadEvents(absl::Duration look_every);
  absl::Status TakeEvent(os::Packet packet);
  absl::Status NoteStock(YardStock stock) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const bool has_zygote_;
  const bool traces_calls_;
  Yard yard_;
  const uint32_t max_jails_;
  os::Fd stop_;
  std::thread reader_;
  std::atomic<int> unanswered_looks_ = 0;
  mutable absl::Mutex mutex_;
  absl::Status broken_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  // Asked for and not yet reported gone.
  std::set<uint64_t> live_ ABSL_GUARDED_BY(mutex_);
  std::set<uint64_t> waiting_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, absl::StatusOr<Jail::Parts>> answers_
      ABSL_GUARDED_BY(mutex_);
  // Of stock: how often it was asked for, at most once more than answered.
  uint64_t stock_questions_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t stock_answers_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<YardStock> stock_ ABSL_GUARDED_BY(mutex_);
  absl::Time stock_time_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_YARD_YARD_PORT_H_
