#include "sandbox/yard/yard_port.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "internal/spawner.pb.h"
#include "sandbox/os/clocks.h"
#include "sandbox/os/io.h"
#include "sandbox/os/process.h"
#include "sandbox/os/status.h"
#include "sandbox/wire/descriptor_room.h"
#include "sandbox/wire/template_proto.h"
#include "sandbox/yard/spawner_event.h"

namespace sandglass::sandbox {

YardPort::YardPort(Yard yard, bool has_zygote, uint32_t max_jails,
                   bool traces_calls)
    : has_zygote_(has_zygote),
      traces_calls_(traces_calls),
      yard_(std::move(yard)),
      max_jails_(max_jails),
      serves_(!has_zygote) {}

YardPort::~YardPort() {
  StopReader();
  yard_.channel.reset();
  // The yard's PID 1 ends at EOF, and the kernel kills the rest.
  (void)AwaitEnd();
}

void YardPort::StopReader() {
  if (!reader_.joinable()) return;
  const uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof(one));
  reader_.join();
}

absl::Status YardPort::StartReader(std::function<void(absl::Status)> on_death,
                                   absl::Duration look_every) {
  stop_.reset(::eventfd(0, EFD_CLOEXEC));
  if (!stop_.valid()) return os::ErrnoStatus("eventfd");
  reader_ = std::thread([this, look_every, on_death = std::move(on_death)] {
    const absl::Status status = ReadEvents(look_every);
    if (status.ok()) return;
    {
      const absl::MutexLock lock(&mutex_);
      broken_ = status;
      serves_ = false;
      is_broken_ = true;
      // Nobody will report them gone.
      live_.clear();
    }
    on_death(status);
  });
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Jail>> YardPort::CreateJail(
    const std::string& template_name, const policy::Limits& limits,
    absl::Duration timeout, FillFor fill_for, const std::string& layer) {
  // ORDER: before the spawner makes something that this process could not hold.
  const absl::StatusOr<DescriptorRoom> room = DescriptorRoom::Find(
      fill_for == FillFor::kStock ? RoomFor::kStock : RoomFor::kJail);
  if (!room.ok()) return room.status();
  internal::SpawnerRequest request;
  internal::CreateJail* create = request.mutable_create();
  create->set_layer(layer);
  create->set_template_name(template_name);
  *create->mutable_slots() = ToSlots(limits);
  create->set_with_runner(has_zygote_);
  create->set_in_haste(has_zygote_ && fill_for == FillFor::kRun);
  const absl::MutexLock lock(&mutex_);
  if (!broken_.ok()) return Unavailable();
  const int64_t end = os::MonotonicNanos() + absl::ToInt64Nanoseconds(timeout);
  // The jails of ended runs go away by themselves, but later than their slots
  // are wanted when runs are short and many.
  const auto has_slot = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return live_.size() < max_jails_ || !broken_.ok();
  };
  if (fill_for == FillFor::kRun) AwaitUntil(absl::Condition(&has_slot), end);
  if (!broken_.ok()) return Unavailable();
  if (live_.size() >= max_jails_) return NoSlot();
  const uint64_t id = next_id_++;
  create->set_jail_id(id);
  live_.insert(id);
  if (const absl::Status sent = os::SendPacket(
          yard_.channel.get(), request.SerializeAsString(), {}, os::Wait::kNo);
      !sent.ok()) {
    live_.erase(id);
    // The reader finds that out, too, but perhaps later.
    if (absl::IsUnavailable(sent)) {
      serves_ = false;
      is_broken_ = true;
    }
    return sent;
  }
  waiting_.insert(id);
  const auto answered = [this, id]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return answers_.contains(id) || !broken_.ok();
  };
  AwaitUntil(absl::Condition(&answered), end);
  waiting_.erase(id);
  const auto answer = answers_.find(id);
  if (answer == answers_.end()) {
    if (!broken_.ok()) return Unavailable();
    // Not the caller's deadline but ours has passed: the caller may try again.
    return absl::UnavailableError(absl::StrCat(
        "the spawner made no jail within ", absl::FormatDuration(timeout)));
  }
  absl::StatusOr<Jail::Parts> parts = std::move(answer->second);
  answers_.erase(answer);
  if (!parts.ok()) return parts.status();
  parts->traces_calls = traces_calls_;
  return std::make_unique<Jail>(*std::move(parts));
}

bool YardPort::AwaitEnd() const {
  // A process that was killed has closed its channel some time before it is
  // gone.
  constexpr int kEndingMs = 5000;
  struct pollfd fd = {yard_.pidfd.get(), POLLIN, 0};
  if (::poll(&fd, 1, kEndingMs) != 1) return false;
  // Reaped at most once, and nobody else who has its number by then.
  ::waitid(P_PIDFD, static_cast<id_t>(yard_.pidfd.get()), nullptr,
           WEXITED | WNOHANG);
  return true;
}

uint32_t YardPort::live_jails() const {
  const absl::MutexLock lock(&mutex_);
  return static_cast<uint32_t>(live_.size());
}

bool YardPort::WaitUntilEmpty(absl::Duration timeout) const {
  const absl::MutexLock lock(&mutex_);
  const auto empty = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return live_.empty() || !broken_.ok();
  };
  return mutex_.AwaitWithTimeout(absl::Condition(&empty), timeout);
}

uint64_t YardPort::AskStock() {
  internal::SpawnerRequest request;
  request.mutable_take_stock();
  const absl::MutexLock lock(&mutex_);
  if (stock_questions_ == stock_answers_ && broken_.ok() &&
      os::SendPacket(yard_.channel.get(), request.SerializeAsString(), {},
                     os::Wait::kNo)
          .ok()) {
    ++stock_questions_;
  }
  return stock_questions_;
}

std::optional<YardStock> YardPort::AwaitStock(uint64_t answer,
                                              absl::Time deadline,
                                              absl::Duration at_most_ago) {
  const absl::MutexLock lock(&mutex_);
  const auto answered = [this, answer]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stock_answers_ >= answer || !broken_.ok();
  };
  AwaitUntil(absl::Condition(&answered),
             os::MonotonicNanos() +
                 absl::ToInt64Nanoseconds(deadline - os::SteadyNow()));
  if (os::SteadyNow() - stock_time_ > at_most_ago) return std::nullopt;
  return stock_;
}

void YardPort::AwaitUntil(const absl::Condition& condition, int64_t end) {
  for (int64_t left = end - os::MonotonicNanos();
       left > 0 &&
       !mutex_.AwaitWithTimeout(condition, absl::Nanoseconds(left));) {
    left = end - os::MonotonicNanos();
  }
}

absl::Status YardPort::Unavailable() const {
  return absl::UnavailableError(
      absl::StrCat("the spawner is gone: ", broken_.message()));
}

absl::Status YardPort::NoSlot() const {
  return absl::ResourceExhaustedError(
      absl::StrCat("all ", max_jails_, " jails are in use; try again later"));
}

absl::Status YardPort::ReadEvents(absl::Duration look_every) {
  const auto look_ms = static_cast<int>(absl::ToInt64Milliseconds(look_every));
  for (;;) {
    struct pollfd fds[2] = {{yard_.channel.get(), POLLIN, 0},
                            {stop_.get(), POLLIN, 0}};
    const int ready = ::poll(fds, 2, look_ms);
    if (ready < 0) {
      if (errno == EINTR) continue;
      // ENOMEM passes; what others have in this yard doesn't end by it.
      ::usleep(os::kShortagePauseMicros);
      continue;
    }
    if (fds[1].revents != 0) return absl::OkStatus();
    if (ready == 0) {
      if (unanswered_looks_ >= kMaxLooks) {
        return absl::DeadlineExceededError(
            absl::StrCat("a spawner has not answered for ",
                         absl::FormatDuration(kMaxLooks * look_every)));
      }
      ++unanswered_looks_;
      AskStock();
      continue;
    }
    unanswered_looks_ = 0;
    absl::StatusOr<os::Packet> packet =
        os::ReceivePacket(yard_.channel.get(), os::Wait::kNo);
    if (absl::IsNotFound(packet.status())) continue;
    if (!packet.ok()) return packet.status();
    if (absl::Status status = HandleEvent(*std::move(packet)); !status.ok()) {
      return status;
    }
  }
}

absl::Status YardPort::HandleEvent(os::Packet packet) {
  absl::StatusOr<SpawnerNews> news = ReadSpawnerEvent(std::move(packet));
  if (!news.ok()) return news.status();
  const absl::MutexLock lock(&mutex_);
  if (const auto* removed = std::get_if<JailRemoved>(&*news)) {
    live_.erase(removed->jail_id);
    return absl::OkStatus();
  }
  if (const auto* zygote = std::get_if<ZygoteChanged>(&*news)) {
    serves_ = zygote->serves;
    return absl::OkStatus();
  }
  if (auto* stock = std::get_if<YardStock>(&*news)) {
    return RecordStock(std::move(*stock));
  }
  auto& answer = std::get<JailAnswered>(*news);
  // A jail whose descriptors got lost was made all the same; its removal is
  // reported later.
  if (!answer.parts.ok() && !answer.lost) live_.erase(answer.jail_id);
  if (answer.no_slot) answer.parts = NoSlot();
  // If nobody waits for the answer any more, its parts are closed; the control
  // socket among them, and so init ends.
  if (waiting_.contains(answer.jail_id)) {
    answers_.emplace(answer.jail_id, std::move(answer.parts));
  }
  return absl::OkStatus();
}

absl::Status YardPort::RecordStock(YardStock stock) {
  if (stock_answers_ == stock_questions_) {
    return absl::InternalError("the spawner took stock unasked");
  }
  // If the caller that asked is gone, the next one gets this answer.
  ++stock_answers_;
  stock_ = std::move(stock);
  stock_time_ = os::SteadyNow();
  return absl::OkStatus();
}

}  // namespace sandglass::sandbox
