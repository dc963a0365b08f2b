#include "server/base/durable_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "sandbox/os/io.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

struct Head {
  uint32_t size;
  uint32_t size_crc;  // else a wrong size would look like a cut record
  uint32_t crc;       // of the record
};
static_assert(sizeof(Head) == DurableLog::kFrameBytes);

uint32_t CrcOf(absl::string_view bytes) {
  return static_cast<uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()),
              static_cast<uInt>(bytes.size())));
}

uint32_t CrcOfSize(uint32_t size) {
  return CrcOf({reinterpret_cast<const char*>(&size), sizeof(size)});
}

std::string Framed(absl::string_view record) {
  const auto size = static_cast<uint32_t>(record.size());
  const Head head = {size, CrcOfSize(size), CrcOf(record)};
  std::string framed(sizeof(head), '\0');
  std::memcpy(framed.data(), &head, sizeof(head));
  framed.append(record.data(), record.size());
  return framed;
}

absl::Status Damaged(const std::string& name, uint64_t offset) {
  return absl::DataLossError(
      absl::StrCat("the record at byte ", offset, " of ", name, " is damaged"));
}

}  // namespace

absl::Status DiskError(absl::string_view what) {
  const int error = errno;
  const std::string text = absl::StrCat("can't ", what, ": ", ErrorText(error));
  return error == ENOSPC || error == EDQUOT || error == EFBIG
             ? absl::ResourceExhaustedError(text)
             : absl::InternalError(text);
}

absl::StatusOr<DurableLog> DurableLog::Open(const os::Fd& directory,
                                            const std::string& name,
                                            const RecordHandler& handle) {
  DurableLog log;
  log.file_.reset(::openat(
      directory.get(), name.c_str(),
      O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  struct stat info = {};
  if (!log.file_.valid() || ::fstat(log.file_.get(), &info) != 0) {
    return DiskError(absl::StrCat("open ", name));
  }
  if (!S_ISREG(info.st_mode) ||
      static_cast<uint64_t>(info.st_size) > kMaxBytes) {
    return absl::DataLossError(absl::StrCat(name, " is none of ours"));
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  std::string record;
  while (size - log.bytes_ >= sizeof(Head)) {
    Head head = {};
    const auto at = static_cast<off_t>(log.bytes_);
    if (::pread(log.file_.get(), &head, sizeof(head), at) != sizeof(head)) {
      return DiskError(absl::StrCat("read ", name));
    }
    if (head.size > kMaxRecordBytes || CrcOfSize(head.size) != head.size_crc) {
      return Damaged(name, log.bytes_);
    }
    if (head.size > size - log.bytes_ - sizeof(head)) break;
    record.resize(head.size);
    if (::pread(log.file_.get(), record.data(), record.size(),
                at + static_cast<off_t>(sizeof(head))) !=
        static_cast<ssize_t>(record.size())) {
      return DiskError(absl::StrCat("read ", name));
    }
    if (CrcOf(record) != head.crc) return Damaged(name, log.bytes_);
    if (absl::Status taken = handle(record); !taken.ok()) return taken;
    log.bytes_ += sizeof(head) + record.size();
  }
  if (log.bytes_ < size &&
      ::ftruncate(log.file_.get(), static_cast<off_t>(log.bytes_)) != 0) {
    return DiskError(absl::StrCat("cut ", name));
  }
  return log;
}

absl::Status DurableLog::Append(absl::string_view record) {
  if (record.size() > kMaxRecordBytes ||
      bytes_ + record.size() + sizeof(Head) > kMaxBytes) {
    return absl::ResourceExhaustedError("there is too much to write down");
  }
  const std::string framed = Framed(record);
  if (os::WriteAll(file_.get(), framed)) {
    bytes_ += framed.size();
    return absl::OkStatus();
  }
  absl::Status failure = DiskError("write to the disk");
  // What was written of this record must not stand before the next one.
  if (::ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0) file_.reset();
  return failure;
}

absl::StatusOr<DurableLog> DurableLog::Replace(const os::Fd& directory,
                                               const std::string& name,
                                               absl::string_view record) {
  const std::string draft = absl::StrCat(name, ".new");
  ::unlinkat(directory.get(), draft.c_str(), 0);
  absl::StatusOr<DurableLog> log = Open(
      directory, draft, [](absl::string_view) { return absl::OkStatus(); });
  if (!log.ok()) return log.status();
  absl::Status written =
      record.empty() ? absl::OkStatus() : log->Append(record);
  if (written.ok() && ::renameat(directory.get(), draft.c_str(),
                                 directory.get(), name.c_str()) != 0) {
    written = DiskError(absl::StrCat("replace ", name));
  }
  if (!written.ok()) {
    ::unlinkat(directory.get(), draft.c_str(), 0);
    return written;
  }
  return log;
}

}  // namespace sandglass::server
