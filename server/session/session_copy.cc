#include "server/session/session_copy.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "sandbox/os/io.h"
#include "server/base/strings.h"
#include "server/session/copy_parts.h"

namespace sandglass::server {
namespace {

using internal::StoredChanges;
using internal::StoredEntry;

constexpr char kRecord[] = "record";
constexpr char kFiles[] = "files";
// The size of an entry in the log, besides its names.
constexpr uint64_t kEntryBytes = 64;
constexpr uint64_t kSmallLog = uint64_t{64} << 10;

}  // namespace

std::vector<std::string> NamesIn(const os::Fd& directory) {
  std::vector<std::string> names;
  const int copy =
      ::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(
      copy < 0 ? nullptr : ::fdopendir(copy), ::closedir);
  if (stream == nullptr) return names;
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

SessionCopy::SessionCopy(os::Fd directory, std::shared_ptr<DiskBudget> disk,
                         std::string session_id)
    : directory_(std::move(directory)),
      disk_(std::move(disk)),
      session_id_(std::move(session_id)) {
  uint64_t bytes = 0;
  for (const std::string& name : NamesIn(directory_)) {
    struct stat info = {};
    if (::fstatat(directory_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) ==
            0 &&
        S_ISREG(info.st_mode)) {
      bytes += std::min(static_cast<uint64_t>(info.st_size),
                        static_cast<uint64_t>(info.st_blocks) * 512);
    }
  }
  disk_->Force(bytes);
  bytes_ = bytes;
}

SessionCopy::~SessionCopy() { disk_->Release(bytes_); }

absl::Status SessionCopy::Grow(uint64_t bytes) {
  if (!disk_->Acquire(bytes)) {
    return disk_->Refusal(kDurableBytes, bytes);
  }
  bytes_ += bytes;
  return absl::OkStatus();
}

void SessionCopy::Shrink(uint64_t bytes) {
  bytes_ -= bytes;
  disk_->Release(bytes);
}

absl::Status SessionCopy::WriteRecord(const internal::StoredSession& record) {
  absl::MutexLock lock(&mutex_);
  if (closed_) return absl::OkStatus();
  return DurableLog::Replace(directory_, kRecord, record.SerializeAsString())
      .status();
}

void SessionCopy::Touch(absl::Time used) const {
  const timespec times[] = {absl::ToTimespec(used), absl::ToTimespec(used)};
  ::utimensat(directory_.get(), kRecord, times, AT_SYMLINK_NOFOLLOW);
}

absl::StatusOr<SessionCopy::Files> SessionCopy::Load() {
  absl::MutexLock lock(&mutex_);
  if (absl::Status loaded = LoadLocked(); !loaded.ok()) return loaded;
  return files_;
}

absl::Status SessionCopy::LoadLocked() {
  if (loaded_) return absl::OkStatus();
  files_.clear();
  blobs_.clear();
  name_bytes_ = 0;
  std::vector<StoredChanges> all;
  absl::StatusOr<DurableLog> log =
      DurableLog::Open(directory_, kFiles, [&all](absl::string_view record) {
        StoredChanges changes;
        if (!changes.ParseFromArray(record.data(),
                                    static_cast<int>(record.size()))) {
          return absl::DataLossError("the list of files is damaged");
        }
        if (changes.all()) all.clear();
        all.push_back(std::move(changes));
        return absl::OkStatus();
      });
  if (!log.ok()) return log.status();
  for (const StoredChanges& changes : all) Apply(changes);
  log_ = *std::move(log);
  uint64_t bytes = log_.bytes();
  for (const auto& [number, blob] : blobs_) {
    bytes += blob.bytes;
    next_blob_ = std::max(next_blob_, number + 1);
  }
  std::erase_if(blobs_, [](const auto& of) { return of.second.names == 0; });
  RemoveUnused();
  disk_->Force(bytes);
  disk_->Release(bytes_.exchange(bytes));
  loaded_ = true;
  return absl::OkStatus();
}

void SessionCopy::Forget(const std::string& path) {
  const auto it = files_.find(path);
  if (it == files_.end()) return;
  name_bytes_ -= NameBytes(it->second);
  if (HasContent(it->second)) --blobs_[it->second.blob()].names;
  files_.erase(it);
}

void SessionCopy::Apply(const StoredChanges& changes) {
  if (changes.all()) {
    while (!files_.empty()) Forget(files_.begin()->first);
  }
  for (const std::string& path : changes.removed()) Forget(path);
  for (const StoredEntry& entry : changes.put()) {
    Forget(entry.path());
    name_bytes_ += NameBytes(entry);
    if (HasContent(entry)) {
      Blob& blob = blobs_[entry.blob()];
      ++blob.names;
      blob.bytes = entry.data_bytes();
    }
    files_[entry.path()] = entry;
  }
}

// Removes what a daemon that was killed left behind.
void SessionCopy::RemoveUnused() {
  for (const std::string& name : NamesIn(directory_)) {
    uint64_t blob = 0;
    if (absl::SimpleAtoi(name, &blob) ? blobs_.count(blob) == 0
                                      : name == absl::StrCat(kFiles, ".new")) {
      ::unlinkat(directory_.get(), name.c_str(), 0);
    }
  }
}

os::Fd SessionCopy::OpenBlob(uint64_t blob) const {
  return os::Fd(::openat(directory_.get(), absl::StrCat(blob).c_str(),
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

void SessionCopy::RemoveBlob(uint64_t blob, uint64_t bytes) {
  ::unlinkat(directory_.get(), absl::StrCat(blob).c_str(), 0);
  Shrink(bytes);
}

absl::Status SessionCopy::Compact() {
  const uint64_t needed = name_bytes_ + kEntryBytes * files_.size();
  if (log_.bytes() <= kSmallLog + 4 * needed) return absl::OkStatus();
  StoredChanges all;
  all.set_all(true);
  for (const auto& [path, entry] : files_) *all.add_put() = entry;
  absl::StatusOr<DurableLog> log =
      DurableLog::Replace(directory_, kFiles, all.SerializeAsString());
  if (!log.ok()) return log.status();
  disk_->Force(log->bytes());
  bytes_ += log->bytes();
  Shrink(log_.bytes());
  log_ = *std::move(log);
  return absl::OkStatus();
}

absl::Status SessionCopy::Read(
    const StoredEntry& entry,
    const std::function<absl::Status(absl::string_view)>& take) const {
  if (!HasContent(entry)) return absl::OkStatus();
  const auto damaged = [&entry] {
    return absl::DataLossError(absl::StrCat(
        "the copy of ", Quoted(entry.path(), 256), " isn't as it was written"));
  };
  const os::Fd file = OpenBlob(entry.blob());
  struct stat info = {};
  // Descriptors or memory are short now; the copy itself is as it was.
  if (!file.valid() &&
      (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
    return absl::UnavailableError(
        absl::StrCat("can't open a copy: ", ErrorText(errno)));
  }
  if (!file.valid() && errno != ENOENT) return DiskError("open a copy");
  if (!file.valid() || ::fstat(file.get(), &info) != 0 ||
      !S_ISREG(info.st_mode) ||
      static_cast<uint64_t>(info.st_size) != entry.size()) {
    return damaged();
  }
  std::string piece;
  uint32_t crc = 0;
  for (uint64_t at = 0; at < entry.size(); at += piece.size()) {
    piece.resize(std::min<uint64_t>(os::kFileChunkBytes, entry.size() - at));
    const ssize_t got = ReadAt(file, piece.data(), piece.size(), at);
    if (got < 0) return DiskError("read a copy");
    if (static_cast<size_t>(got) != piece.size()) return damaged();
    ForEachRun(piece, [&crc](size_t, absl::string_view run) {
      crc = Crc(crc, run);
      return true;
    });
    // The last piece is held back until the checksum is known, so that a
    // damaged file is never handed out whole.
    if (at + piece.size() == entry.size() && crc != entry.crc()) {
      return damaged();
    }
    if (absl::Status taken = take(piece); !taken.ok()) return taken;
  }
  return absl::OkStatus();
}

void SessionCopy::SetMissing(Missing missing) {
  absl::MutexLock lock(&missing_mutex_);
  missing_ = std::move(missing);
}

SessionCopy::Missing SessionCopy::missing() const {
  absl::MutexLock lock(&missing_mutex_);
  return missing_;
}

absl::Status SessionCopy::CloneInto(SessionCopy& child) {
  {
    // Load the child first, before it has contents that no file names.
    absl::MutexLock lock(&child.mutex_);
    if (absl::Status loaded = child.LoadLocked(); !loaded.ok()) return loaded;
  }
  StoredChanges all;
  all.set_all(true);
  std::map<uint64_t, Blob> blobs;
  {
    absl::MutexLock lock(&mutex_);
    if (absl::Status loaded = LoadLocked(); !loaded.ok()) return loaded;
    for (const auto& [number, blob] : blobs_) {
      const std::string name = absl::StrCat(number);
      if (::linkat(directory_.get(), name.c_str(), child.directory_.get(),
                   name.c_str(), 0) == 0) {
        blobs.emplace(number, blob);
      } else if (errno != ENOENT) {
        return DiskError("share a copy");
      }
    }
    // The child gets none of the files whose contents are lost.
    for (const auto& [path, entry] : files_) {
      if (!HasContent(entry) || blobs.count(entry.blob()) != 0) {
        *all.add_put() = entry;
      }
    }
  }
  absl::MutexLock lock(&child.mutex_);
  uint64_t bytes = 0;
  for (const auto& [number, blob] : blobs) bytes += blob.bytes;
  const std::string record = all.SerializeAsString();
  if (absl::Status grown =
          child.Grow(bytes + record.size() + DurableLog::kFrameBytes);
      !grown.ok()) {
    return grown;
  }
  if (absl::Status written = child.log_.Append(record); !written.ok()) {
    return written;
  }
  child.Apply(all);
  for (const auto& [number, blob] : blobs) {
    child.next_blob_ = std::max(child.next_blob_, number + 1);
  }
  return absl::OkStatus();
}

}  // namespace sandglass::server
