#include "server/session/session_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/log.h"
#include "server/base/state_dir.h"
#include "server/base/strings.h"
#include "server/session/copy_parts.h"

namespace sandglass::server {
namespace {

constexpr char kRecord[] = "record";
constexpr char kEnded[] = "ended";
// Names of directories that are not sessions: not yet, no longer, or
// unreadable.
constexpr char kNew[] = "new-";
constexpr char kGone[] = "gone-";
constexpr char kDamaged[] = "damaged-";
constexpr char kSession[] = "ses-";
constexpr uint64_t kMaxEndedBytes = uint64_t{4} << 20;

os::Fd OpenDirectoryIn(const os::Fd& directory, const std::string& name) {
  return os::Fd(::openat(directory.get(), name.c_str(),
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

void LogFailure(const char* event, const std::string& name,
                absl::string_view error) {
  Log(LogLevel::kWarning, event,
      {{"session_id", name}, {"error", std::string(error)}});
}

}  // namespace

absl::StatusOr<std::unique_ptr<SessionStore>> SessionStore::Open(
    const std::string& directory, uid_t owner, gid_t group,
    uint64_t max_bytes) {
  absl::StatusOr<os::Fd> fd = AdoptDirectory(
      directory, owner, group, 0700, "sessions.durable_dir", Holds::kItsOwn);
  if (!fd.ok()) return fd.status();
  if (::flock(fd->get(), LOCK_EX | LOCK_NB) != 0) {
    // UNAVAILABLE, since the other daemon may end.
    return absl::UnavailableError(absl::StrCat(
        "another sandglassd keeps its durable sessions in ",
        Quoted(directory, 256),
        "; stop it, or give this one another \"sessions.durable_dir\""));
  }
  return std::unique_ptr<SessionStore>(
      new SessionStore(*std::move(fd), max_bytes));
}

absl::StatusOr<SessionStore::Found> SessionStore::LoadOne(
    const std::string& name) {
  os::Fd own = OpenDirectoryIn(directory_, name);
  if (!own.valid()) return DiskError("open a session's directory");
  struct stat info = {};
  if (::fstatat(own.get(), kRecord, &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return absl::DataLossError("it has no record");
  }
  Found found;
  std::optional<internal::StoredSession> record;
  const absl::StatusOr<DurableLog> log =
      DurableLog::Open(own, kRecord, [&record](absl::string_view bytes) {
        record.emplace();
        return record->ParseFromArray(bytes.data(),
                                      static_cast<int>(bytes.size()))
                   ? absl::OkStatus()
                   : absl::DataLossError("its record is damaged");
      });
  if (!log.ok()) return log.status();
  if (!record.has_value() || record->session_id() != name) {
    return absl::DataLossError("its record is damaged");
  }
  found.record = *std::move(record);
  found.last_used = absl::TimeFromTimespec(info.st_mtim);
  found.copy = std::make_shared<SessionCopy>(
      std::move(own), disk_->ShareOf(found.record.caller()), name);
  return found;
}

std::vector<SessionStore::Found> SessionStore::LoadSessions() {
  std::set<std::string> ended;
  for (const internal::StoredEnd& end : LoadEnds(absl::InfinitePast())) {
    ended.insert(end.session_id());
  }
  std::vector<Found> all;
  for (const std::string& name : NamesIn(directory_)) {
    // Where a session's end was noted, the daemon ended before its files were
    // removed.
    if (absl::StartsWith(name, kNew) || absl::StartsWith(name, kGone) ||
        ended.count(name) != 0) {
      RemoveDirectory(name);
      continue;
    }
    if (!absl::StartsWith(name, kSession)) continue;
    absl::StatusOr<Found> found = LoadOne(name);
    if (found.ok()) {
      all.push_back(*std::move(found));
      continue;
    }
    LogFailure("durable_session_damaged", name, found.status().message());
    if (absl::IsDataLoss(found.status())) {
      ::renameat(directory_.get(), name.c_str(), directory_.get(),
                 absl::StrCat(kDamaged, name).c_str());
    }
  }
  std::ranges::sort(all, {}, [](const Found& found) {
    return std::pair(found.record.create_time_ns(), found.record.session_id());
  });
  return all;
}

std::vector<internal::StoredEnd> SessionStore::LoadEnds(absl::Time since) {
  absl::MutexLock lock(&mutex_);
  internal::StoredEnds kept;
  absl::StatusOr<DurableLog> log =
      DurableLog::Open(directory_, kEnded, [&](absl::string_view bytes) {
        internal::StoredEnds ends;
        if (!ends.ParseFromArray(bytes.data(),
                                 static_cast<int>(bytes.size()))) {
          return absl::DataLossError("a record is damaged");
        }
        for (internal::StoredEnd& end : *ends.mutable_ends()) {
          if (absl::FromUnixNanos(end.time_ns()) >= since) {
            *kept.add_ends() = std::move(end);
          }
        }
        return absl::OkStatus();
      });
  if (!log.ok()) LogFailure("durable_ends_damaged", "", log.status().message());
  if (!log.ok() || since != absl::InfinitePast()) {
    log = DurableLog::Replace(directory_, kEnded, kept.SerializeAsString());
  }
  if (log.ok()) ended_ = *std::move(log);
  return {kept.ends().begin(), kept.ends().end()};
}

void SessionStore::RememberEnd(const internal::StoredEnd& end) {
  internal::StoredEnds ends;
  *ends.add_ends() = end;
  absl::MutexLock lock(&mutex_);
  const std::string record = ends.SerializeAsString();
  absl::Status noted;
  if (ended_.bytes() > kMaxEndedBytes || !ended_.file().valid()) {
    absl::StatusOr<DurableLog> anew =
        DurableLog::Replace(directory_, kEnded, record);
    noted = anew.status();
    if (anew.ok()) ended_ = *std::move(anew);
  } else {
    noted = ended_.Append(record);
  }
  if (!noted.ok()) {
    LogFailure("durable_end_not_noted", end.session_id(), noted.message());
  }
}

absl::StatusOr<std::shared_ptr<SessionCopy>> SessionStore::Create(
    const internal::StoredSession& record, SessionCopy* parent) {
  const std::shared_ptr<DiskBudget> disk = disk_->ShareOf(record.caller());
  if (disk->full()) {
    return disk->Refusal(kDurableBytes, 1);
  }
  const std::string draft = absl::StrCat(kNew, record.session_id());
  if (::mkdirat(directory_.get(), draft.c_str(), 0700) != 0) {
    return DiskError("make a session's directory");
  }
  auto copy = std::make_shared<SessionCopy>(OpenDirectoryIn(directory_, draft),
                                            disk, record.session_id());
  absl::Status done = copy->WriteRecord(record);
  if (done.ok() && parent != nullptr) done = parent->CloneInto(*copy);
  if (done.ok() && ::renameat(directory_.get(), draft.c_str(), directory_.get(),
                              record.session_id().c_str()) != 0) {
    done = DiskError("make a session's directory");
  }
  if (done.ok()) return copy;
  RemoveDirectory(draft);
  return done;
}

void SessionStore::Remove(const std::string& session_id) {
  ::renameat(directory_.get(), session_id.c_str(), directory_.get(),
             absl::StrCat(kGone, session_id).c_str());
  has_gone_ = true;
}

void SessionStore::RemoveGone() {
  if (!has_gone_.exchange(false)) return;
  for (const std::string& name : NamesIn(directory_)) {
    if (absl::StartsWith(name, kGone)) RemoveDirectory(name);
  }
}

void SessionStore::RemoveDirectory(const std::string& name) {
  const os::Fd own = OpenDirectoryIn(directory_, name);
  if (own.valid()) {
    for (const std::string& file : NamesIn(own)) {
      ::unlinkat(own.get(), file.c_str(), 0);
    }
  }
  ::unlinkat(directory_.get(), name.c_str(), AT_REMOVEDIR);
}

}  // namespace sandglass::server
