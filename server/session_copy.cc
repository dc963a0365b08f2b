#include "server/session_copy.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "sandbox/file_types.h"
#include "sandbox/os/io.h"
#include "sandbox/sparse.h"
#include "server/text.h"

namespace sandglass::server {
namespace {

using internal::StoredChanges;
using internal::StoredEntry;
using sandbox::FileType;

constexpr char kRecord[] = "record";
constexpr char kFiles[] = "files";
constexpr size_t kChunk = size_t{256} << 10;
// All names and links of one session together, since they are kept in memory.
constexpr uint64_t kMostNameBytes = uint64_t{16} << 20;
constexpr uint64_t kMostFileBytes = uint64_t{1} << 42;
// Of an entry in the log, beside its names.
constexpr uint64_t kEntryBytes = 64;
constexpr uint64_t kSmallLog = uint64_t{64} << 10;
// Files with holes that aren't compared but written anew.
constexpr uint64_t kLargeFile = uint64_t{256} << 20;

uint64_t NameBytes(const StoredEntry& entry) {
  return entry.path().size() + entry.link_target().size();
}

bool HasContent(const StoredEntry& entry) {
  return static_cast<FileType>(entry.type()) == FileType::kRegular &&
         entry.size() > 0;
}

ssize_t ReadAt(const os::Fd& file, char* data, size_t size, uint64_t offset) {
  ssize_t got;
  do {
    got = ::pread(file.get(), data, size, static_cast<off_t>(offset));
  } while (got < 0 && errno == EINTR);
  return got;
}

bool WriteAt(const os::Fd& file, absl::string_view data, uint64_t offset) {
  while (!data.empty()) {
    const ssize_t put = ::pwrite(file.get(), data.data(), data.size(),
                                 static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    data.remove_prefix(static_cast<size_t>(put));
    offset += static_cast<uint64_t>(put);
  }
  return true;
}

// Calls `take` for each run of pages of a piece that aren't zeros alone, with
// its place in the piece. False when that did.
bool ForEachRun(absl::string_view piece,
                const std::function<bool(size_t, absl::string_view)>& take) {
  size_t at = 0;
  while (at < piece.size()) {
    size_t end = at;
    while (end < piece.size() &&
           !sandbox::AllZero(piece.substr(end, sandbox::kHoleBytes))) {
      end = std::min(end + sandbox::kHoleBytes, piece.size());
    }
    if (end > at && !take(at, piece.substr(at, end - at))) return false;
    at = end > at ? end : std::min(at + sandbox::kHoleBytes, piece.size());
  }
  return true;
}

uint32_t Crc(uint32_t crc, absl::string_view data) {
  return static_cast<uint32_t>(
      ::crc32(crc, reinterpret_cast<const Bytef*>(data.data()),
              static_cast<uInt>(data.size())));
}

}  // namespace

bool DiskBudget::Take(uint64_t bytes) {
  const uint64_t before = used_.fetch_add(bytes);
  if (before + bytes <= most_) return true;
  used_ -= bytes;
  return false;
}

SessionCopy::SessionCopy(os::Fd directory, std::shared_ptr<DiskBudget> disk)
    : directory_(std::move(directory)), disk_(std::move(disk)) {
  const int copy =
      ::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(
      copy < 0 ? nullptr : ::fdopendir(copy), ::closedir);
  if (stream == nullptr) return;
  uint64_t bytes = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const dirent* entry = ::readdir(stream.get())) {
    struct stat info = {};
    if (::fstatat(directory_.get(), entry->d_name, &info,
                  AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(info.st_mode)) {
      bytes += std::min(static_cast<uint64_t>(info.st_size),
                        static_cast<uint64_t>(info.st_blocks) * 512);
    }
  }
  disk_->Force(bytes);
  bytes_ = bytes;
}

SessionCopy::~SessionCopy() { disk_->Give(bytes_); }

absl::Status SessionCopy::Grow(uint64_t bytes) {
  if (!disk_->Take(bytes)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "all durable sessions together may take ", disk_->most(),
        " bytes (sessions.durable_bytes), and have taken ", disk_->used()));
  }
  bytes_ += bytes;
  return absl::OkStatus();
}

void SessionCopy::Shrink(uint64_t bytes) {
  bytes_ -= bytes;
  disk_->Give(bytes);
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
  for (auto it = blobs_.begin(); it != blobs_.end();) {
    bytes += it->second.bytes;
    next_blob_ = std::max(next_blob_, it->first + 1);
    it = it->second.names == 0 ? blobs_.erase(it) : std::next(it);
  }
  RemoveUnused();
  disk_->Force(bytes);
  disk_->Give(bytes_.exchange(bytes));
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

// What a daemon that was killed left behind.
void SessionCopy::RemoveUnused() {
  const int copy =
      ::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(
      copy < 0 ? nullptr : ::fdopendir(copy), ::closedir);
  if (stream == nullptr) return;
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    uint64_t blob = 0;
    if (absl::SimpleAtoi(name, &blob) ? blobs_.count(blob) == 0
                                      : name == absl::StrCat(kFiles, ".new")) {
      ::unlinkat(directory_.get(), name.c_str(), 0);
    }
  }
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
        "the copy of ", Quote(entry.path(), 256), " isn't as it was written"));
  };
  const os::Fd file(::openat(directory_.get(),
                             absl::StrCat(entry.blob()).c_str(),
                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info = {};
  if (!file.valid() && errno != ENOENT) return DiskError("open a copy");
  if (!file.valid() || ::fstat(file.get(), &info) != 0 ||
      !S_ISREG(info.st_mode) ||
      static_cast<uint64_t>(info.st_size) != entry.size()) {
    return damaged();
  }
  std::string piece;
  uint32_t crc = 0;
  for (uint64_t at = 0; at < entry.size(); at += piece.size()) {
    piece.resize(std::min<uint64_t>(kChunk, entry.size() - at));
    const ssize_t got = ReadAt(file, piece.data(), piece.size(), at);
    if (got < 0) return DiskError("read a copy");
    if (static_cast<size_t>(got) != piece.size()) return damaged();
    ForEachRun(piece, [&crc](size_t, absl::string_view run) {
      crc = Crc(crc, run);
      return true;
    });
    // The last piece waits for the sum, so that a damaged file never is whole.
    if (at + piece.size() == entry.size() && crc != entry.crc()) {
      return damaged();
    }
    if (absl::Status taken = take(piece); !taken.ok()) return taken;
  }
  return absl::OkStatus();
}

absl::Status SessionCopy::CloneInto(SessionCopy& child) {
  StoredChanges all;
  all.set_all(true);
  std::map<uint64_t, Blob> blobs;
  {
    absl::MutexLock lock(&mutex_);
    if (absl::Status loaded = LoadLocked(); !loaded.ok()) return loaded;
    for (const auto& [path, entry] : files_) *all.add_put() = entry;
    blobs = blobs_;
    for (const auto& [number, blob] : blobs) {
      const std::string name = absl::StrCat(number);
      if (::linkat(directory_.get(), name.c_str(), child.directory_.get(),
                   name.c_str(), 0) != 0) {
        return DiskError("share a copy");
      }
    }
  }
  absl::MutexLock lock(&child.mutex_);
  if (absl::Status loaded = child.LoadLocked(); !loaded.ok()) return loaded;
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

CopyChange::~CopyChange() {
  for (const auto& [blob, bytes] : written_) copy_.RemoveBlob(blob, bytes);
}

void CopyChange::Add(StoredEntry entry) {
  const auto [at, added] = put_.try_emplace(entry.path(), changes_.put_size());
  if (added) {
    *changes_.add_put() = std::move(entry);
  } else {
    *changes_.mutable_put(at->second) = std::move(entry);
  }
}

absl::Status CopyChange::Put(StoredEntry entry) {
  if (!changes_.all()) {
    absl::MutexLock lock(&copy_.mutex_);
    if (absl::Status loaded = copy_.LoadLocked(); !loaded.ok()) return loaded;
    const auto before = copy_.files_.find(entry.path());
    if (before != copy_.files_.end() && put_.count(entry.path()) == 0 &&
        before->second.SerializeAsString() == entry.SerializeAsString()) {
      return absl::OkStatus();
    }
  }
  Add(std::move(entry));
  return absl::OkStatus();
}

void CopyChange::Remove(const std::string& path) {
  // What was put under this name meanwhile is something else.
  if (put_.count(path) == 0) changes_.add_removed(path);
}

bool CopyChange::SameContent(const os::Fd& content, uint64_t size,
                             const StoredEntry& before) const {
  const os::Fd file(::openat(copy_.directory_.get(),
                             absl::StrCat(before.blob()).c_str(),
                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return false;
  std::string one, other;
  for (uint64_t at = 0; at < size; at += one.size()) {
    one.resize(std::min<uint64_t>(kChunk, size - at));
    other.resize(one.size());
    const auto wanted = static_cast<ssize_t>(one.size());
    if (copy_.closed() ||
        ReadAt(content, one.data(), one.size(), at) != wanted ||
        ReadAt(file, other.data(), other.size(), at) != wanted ||
        one != other) {
      return false;
    }
  }
  return true;
}

absl::Status CopyChange::PutFile(StoredEntry entry, const os::Fd& content,
                                 uint64_t inode, const std::string& old_path) {
  struct stat info = {};
  if (::fstat(content.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::InternalError("the jail handed out what is no file");
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size > kMostFileBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        Quote(entry.path(), 256), " is too large: ", size, " bytes"));
  }
  const auto take = [&entry](const StoredEntry& from) {
    entry.set_blob(from.blob());
    entry.set_size(from.size());
    entry.set_crc(from.crc());
    entry.set_data_bytes(from.data_bytes());
  };
  if (const auto known = by_inode_.find(inode);
      inode != 0 && known != by_inode_.end()) {
    take(known->second);
    return Put(std::move(entry));
  }
  StoredEntry before;
  {
    absl::MutexLock lock(&copy_.mutex_);
    if (absl::Status loaded = copy_.LoadLocked(); !loaded.ok()) return loaded;
    for (const std::string& path : {entry.path(), old_path}) {
      const auto it = copy_.files_.find(path);
      if (it == copy_.files_.end() || !HasContent(it->second) ||
          it->second.size() != size) {
        continue;
      }
      // Names that share a content are names of one file.
      const bool shared = copy_.blobs_[it->second.blob()].names > 1;
      if ((shared && inode == 0) || taken_.count(it->second.blob()) != 0) {
        continue;
      }
      before = it->second;
      break;
    }
  }
  const bool sparse = static_cast<uint64_t>(info.st_blocks) * 512 < size;
  if (before.blob() != 0 && !(sparse && size > kLargeFile) &&
      SameContent(content, size, before)) {
    take(before);
    taken_.insert(before.blob());
  } else if (size > 0) {
    entry.set_size(size);
    if (absl::Status written = Write(content, entry); !written.ok()) {
      return written;
    }
  }
  if (inode != 0) by_inode_[inode] = entry;
  return Put(std::move(entry));
}

absl::Status CopyChange::Write(const os::Fd& content, StoredEntry& entry) {
  uint64_t blob = 0;
  {
    absl::MutexLock lock(&copy_.mutex_);
    blob = copy_.next_blob_++;
  }
  const os::Fd file(
      ::openat(copy_.directory_.get(), absl::StrCat(blob).c_str(),
               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return DiskError("make a copy");
  auto& [number, bytes] = written_.emplace_back(blob, 0);
  std::string piece;
  uint64_t at = 0, size = entry.size();
  uint32_t crc = 0;
  absl::Status failure;
  while (at < size) {
    if (copy_.closed()) return absl::AbortedError("the session has ended");
    const off_t data =
        ::lseek(content.get(), static_cast<off_t>(at), SEEK_DATA);
    if (data < 0) break;  // a hole up to the end
    at = std::max(at, static_cast<uint64_t>(data) / sandbox::kHoleBytes *
                          sandbox::kHoleBytes);
    if (at >= size) break;
    const uint64_t wanted = std::min<uint64_t>(kChunk, size - at);
    piece.resize(wanted);
    const ssize_t got = ReadAt(content, piece.data(), wanted, at);
    if (got < 0) return DiskError("read a file of the session");
    piece.resize(static_cast<size_t>(got));
    const bool written =
        ForEachRun(piece, [&](size_t place, absl::string_view run) {
          failure = copy_.Grow(run.size());
          if (!failure.ok()) return false;
          bytes += run.size();
          crc = Crc(crc, run);
          if (WriteAt(file, run, at + place)) return true;
          failure = DiskError("write a copy");
          return false;
        });
    if (!written) return failure;
    at += piece.size();
    // It was made shorter meanwhile.
    if (piece.size() < wanted) size = at;
  }
  if (::ftruncate(file.get(), static_cast<off_t>(size)) != 0) {
    return DiskError("write a copy");
  }
  entry.set_blob(blob);
  entry.set_size(size);
  entry.set_crc(crc);
  entry.set_data_bytes(bytes);
  return absl::OkStatus();
}

absl::Status CopyChange::Commit() {
  absl::MutexLock lock(&copy_.mutex_);
  if (copy_.closed_) return absl::AbortedError("the session has ended");
  if (absl::Status loaded = copy_.LoadLocked(); !loaded.ok()) return loaded;
  if (!changes_.all() && changes_.put().empty() && changes_.removed().empty()) {
    return absl::OkStatus();
  }
  uint64_t names = changes_.all() ? 0 : copy_.name_bytes_;
  for (const StoredEntry& entry : changes_.put()) {
    const bool known = !changes_.all() && copy_.files_.count(entry.path()) != 0;
    names += known ? entry.link_target().size() : NameBytes(entry);
  }
  if (names > kMostNameBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the names of its files take more than ", kMostNameBytes, " bytes"));
  }
  const std::string record = changes_.SerializeAsString();
  const uint64_t framed = record.size() + DurableLog::kFrameBytes;
  if (absl::Status grown = copy_.Grow(framed); !grown.ok()) return grown;
  if (absl::Status written = copy_.log_.Append(record); !written.ok()) {
    copy_.Shrink(framed);
    return written;
  }
  copy_.Apply(changes_);
  for (const auto& [blob, bytes] : written_) {
    if (copy_.blobs_.count(blob) == 0) copy_.RemoveBlob(blob, bytes);
  }
  written_.clear();
  for (auto it = copy_.blobs_.begin(); it != copy_.blobs_.end();) {
    if (it->second.names > 0) {
      ++it;
      continue;
    }
    copy_.RemoveBlob(it->first, it->second.bytes);
    it = copy_.blobs_.erase(it);
  }
  // What fails here costs room, not files.
  (void)copy_.Compact();
  return absl::OkStatus();
}

}  // namespace sandglass::server
