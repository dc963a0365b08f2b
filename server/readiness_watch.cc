#include "server/readiness_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/sandbox.h"
#include "server/clock.h"
#include "server/isolation_canary.h"
#include "server/log.h"
#include "server/text.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kLookEvery = absl::Seconds(5);
constexpr uint64_t kSmallPart = 20;

}  // namespace

absl::Status PoolWatch::Look(const std::vector<PoolKeyState>& states) {
  std::string failing;
  std::map<JailKey, Seen> seen;
  for (const PoolKeyState& state : states) {
    if (state.key.kind != sandbox::kExecKind) continue;
    const auto before = seen_.find(state.key);
    const Seen was = before == seen_.end() ? Seen{} : before->second;
    // Not a failure: nobody has tried since.
    bool fails = was.fails || state.fill_failures > was.failures;
    if (state.idle > 0 || state.filled > was.filled || state.target == 0) {
      fails = false;
    }
    seen[state.key] = {state.filled, state.fill_failures, fails};
    if (fails) {
      absl::StrAppend(&failing, failing.empty() ? "" : ", ", "for profile ",
                      state.key.profile.substr(0, state.key.profile.find('@')));
    }
  }
  seen_ = std::move(seen);
  if (failing.empty()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("no jails can be made: ", failing,
                   "; the log's pool_fill lines say why"));
}

absl::Status JudgeRoom(const std::string& directory, const Room& room) {
  if (room.free_bytes < std::min(kLeastFreeBytes, room.bytes / kSmallPart)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(directory, " has only ", room.free_bytes, " bytes left"));
  }
  if (room.files > 0 &&
      room.free_files < std::min(kLeastFreeFiles, room.files / kSmallPart)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        directory, " has room for only ", room.free_files, " more files"));
  }
  return absl::OkStatus();
}

absl::Status CheckRoom(const std::vector<std::string>& directories) {
  for (const std::string& directory : directories) {
    struct statvfs found {};
    if (::statvfs(directory.c_str(), &found) != 0) continue;
    const Room room = {.bytes = uint64_t{found.f_blocks} * found.f_frsize,
                       .free_bytes = uint64_t{found.f_bavail} * found.f_frsize,
                       .files = found.f_files,
                       .free_files = found.f_favail};
    if (absl::Status enough = JudgeRoom(directory, room); !enough.ok()) {
      return enough;
    }
  }
  return absl::OkStatus();
}

ReadinessWatch::ReadinessWatch(ReadinessWatchParts parts)
    : parts_(std::move(parts)) {}

ReadinessWatch::~ReadinessWatch() { Stop(); }

absl::Status ReadinessWatch::Start() {
  wake_ = os::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.valid()) {
    return absl::InternalError(absl::StrCat("eventfd: ", ErrorText(errno)));
  }
  thread_ = std::thread([this] { Loop(); });
  return absl::OkStatus();
}

bool ReadinessWatch::WaitForFirst(absl::Duration timeout) const {
  absl::MutexLock lock(&mutex_);
  const auto tried = [this]()
                         ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return tried_; };
  return mutex_.AwaitWithTimeout(absl::Condition(&tried), timeout);
}

void ReadinessWatch::LookAgain() {
  if (wake_.valid()) ::eventfd_write(wake_.get(), 1);
}

void ReadinessWatch::Stop() {
  cancel_.Cancel(policy::KillReason::kShutdown);
  LookAgain();
  if (thread_.joinable()) thread_.join();
}

void ReadinessWatch::CheckIsolationNow() {
  const absl::Status held =
      CheckIsolation(*parts_.policy->Get(), parts_.run, cancel_);
  if (cancel_.reason().has_value()) return;
  const bool known = held.ok() || absl::IsFailedPrecondition(held);
  if (!known) {
    Log(LogLevel::kWarning, "isolation_not_tried",
        {{"error", std::string(held.message())}});
  }
  // What is known of it stays, until more is.
  if (known ||
      absl::IsUnavailable(parts_.readiness->Get(ReadyWhen::kIsolation))) {
    parts_.readiness->Set(
        ReadyWhen::kIsolation,
        known ? held : absl::UnavailableError(held.message()),
        "a program that tried to get out of jails of all profiles did not");
  }
  absl::MutexLock lock(&mutex_);
  tried_ = true;
}

void ReadinessWatch::Loop() {
  PoolWatch pool;
  std::optional<MonotonicTime> checked;
  while (!cancel_.reason().has_value()) {
    const MonotonicTime now = Monotonic::now();
    const bool unknown =
        absl::IsUnavailable(parts_.readiness->Get(ReadyWhen::kIsolation));
    if (!checked || unknown ||
        absl::FromChrono(now - *checked) >= parts_.isolation_every) {
      CheckIsolationNow();
      checked = now;
    }
    parts_.readiness->Set(ReadyWhen::kPool, pool.Look(parts_.pool()));
    parts_.readiness->Set(ReadyWhen::kDisk, CheckRoom(parts_.directories));
    pollfd woken = {wake_.get(), POLLIN, 0};
    if (::poll(&woken, 1,
               static_cast<int>(absl::ToInt64Milliseconds(kLookEvery))) > 0) {
      eventfd_t times = 0;
      ::eventfd_read(wake_.get(), &times);
      checked.reset();
    }
  }
}

}  // namespace sandglass::server
