#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/os/io.h"
#include "server/base/strings.h"
#include "server/session/copy_parts.h"
#include "server/session/session_copy.h"

namespace sandglass::server {
namespace {

using internal::StoredEntry;

// The bound for all names and links of one session together, since they are
// kept in memory.
constexpr uint64_t kMaxNameBytes = uint64_t{16} << 20;
constexpr uint64_t kMaxFileBytes = uint64_t{1} << 42;
// Files with holes from this size on are written anew instead of being
// compared.
constexpr uint64_t kLargeFile = uint64_t{256} << 20;

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

}  // namespace

CopyChange::~CopyChange() {
  for (const auto& [blob, bytes] : written_) copy_.RemoveBlob(blob, bytes);
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
  const auto [at, added] = put_.try_emplace(entry.path(), changes_.put_size());
  (added ? *changes_.add_put() : *changes_.mutable_put(at->second)) =
      std::move(entry);
  return absl::OkStatus();
}

void CopyChange::Remove(const std::string& path) {
  // Something that was put under this name meanwhile is another file.
  if (put_.count(path) == 0) changes_.add_removed(path);
}

bool CopyChange::SameContent(const os::Fd& content, uint64_t size,
                             const StoredEntry& before) const {
  const os::Fd file = copy_.OpenBlob(before.blob());
  if (!file.valid()) return false;
  std::string one, other;
  for (uint64_t at = 0; at < size; at += one.size()) {
    one.resize(std::min<uint64_t>(os::kFileChunkBytes, size - at));
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
  if (size > kMaxFileBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        Quoted(entry.path(), 256), " is too large: ", size, " bytes"));
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
      // Only names of the same file may share a content.
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
  } else if (size > 0 || inode != 0) {
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
  uint64_t& bytes = written_.emplace_back(blob, 0).second;
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
    const uint64_t wanted = std::min<uint64_t>(os::kFileChunkBytes, size - at);
    piece.resize(wanted);
    const ssize_t got = ReadAt(content, piece.data(), wanted, at);
    if (got < 0) return DiskError("read a file of the session");
    piece.resize(static_cast<size_t>(got));
    const bool written =
        ForEachRun(piece, [&](size_t place, absl::string_view run) {
          failure =
              run.size() > left_
                  ? absl::FailedPreconditionError(
                        "its files changed too much while they were saved")
                  : copy_.Grow(run.size());
          if (!failure.ok()) return false;
          left_ -= run.size();
          bytes += run.size();
          crc = Crc(crc, run);
          if (WriteAt(file, run, at + place)) return true;
          failure = DiskError("write a copy");
          return false;
        });
    if (!written) return failure;
    at += piece.size();
    // The file was made shorter meanwhile.
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
  if (names > kMaxNameBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the names of its files take more than ", kMaxNameBytes, " bytes"));
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
  std::erase_if(copy_.blobs_, [this](const auto& of) {
    const auto& [number, blob] = of;
    if (blob.names == 0) copy_.RemoveBlob(number, blob.bytes);
    return blob.names == 0;
  });
  // A failure here only costs room, not files.
  (void)copy_.Compact();
  return absl::OkStatus();
}

}  // namespace sandglass::server
