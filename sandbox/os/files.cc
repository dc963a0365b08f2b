#include "sandbox/os/files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sandbox/os/io.h"
#include "sandbox/os/status.h"

namespace sandglass::os {
namespace {

constexpr size_t kSmallFileBytes = 64 * 1024;
constexpr size_t kControlFileBytes = 16 * 1024;
constexpr size_t kWholeFileBytes = 64 * 1024 * 1024;

absl::StatusOr<std::string> ReadUpTo(size_t max, int directory,
                                     const char* name) {
  const Fd fd(::openat(directory, name, O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus("open ", name);
  std::string text;
  char buffer[4096];
  while (text.size() < max) {
    const ssize_t size = ::read(fd.get(), buffer, sizeof(buffer));
    if (size < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus("read ", name);
    }
    if (size == 0) break;
    text.append(buffer, static_cast<size_t>(size));
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> ReadSmallFile(int directory, const char* name) {
  return ReadUpTo(kSmallFileBytes, directory, name);
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  return ReadUpTo(kWholeFileBytes, AT_FDCWD, path.c_str());
}

bool WriteControlFile(int directory, const char* name, absl::string_view text) {
  const Fd fd(::openat(directory, name, O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return false;
  return ::write(fd.get(), text.data(), text.size()) ==
         static_cast<ssize_t>(text.size());
}

std::string ReadControlFile(const Fd& file) {
  if (!file.valid()) return "";
  char buffer[kControlFileBytes];
  ssize_t size = 0;
  do {
    size = ::pread(file.get(), buffer, sizeof(buffer), 0);
  } while (size < 0 && errno == EINTR);
  return std::string(buffer, static_cast<size_t>(size < 0 ? 0 : size));
}

std::optional<uint64_t> FindKey(absl::string_view text, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    uint64_t value = 0;
    if (parts.first == key && absl::SimpleAtoi(parts.second, &value)) {
      return value;
    }
  }
  return std::nullopt;
}

absl::StatusOr<Fd> MakeMemfd(const char* name, absl::string_view data) {
  Fd fd(::memfd_create(name, MFD_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus("memfd_create");
  if (!WriteAll(fd.get(), data)) return ErrnoStatus("write to a memfd");
  if (::lseek(fd.get(), 0, SEEK_SET) != 0) return ErrnoStatus("lseek");
  return fd;
}

absl::StatusOr<Fd> MakeSealedMemfd(const char* name, absl::string_view data) {
  Fd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return ErrnoStatus("memfd_create");
  if (!WriteAll(fd.get(), data)) return ErrnoStatus("write to a memfd");
  if (::fcntl(fd.get(), F_ADD_SEALS,
              F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
    return ErrnoStatus("seal a memfd");
  }
  return fd;
}

bool IsTmpfs(int fd) {
  struct statfs info = {};
  return ::fstatfs(fd, &info) == 0 && info.f_type == TMPFS_MAGIC;
}

bool IsKernelFileSystem(int fd) {
  struct statfs info = {};
  if (::fstatfs(fd, &info) != 0) return true;
  switch (static_cast<unsigned long>(info.f_type)) {
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC:
    case SECURITYFS_MAGIC:
    case BPF_FS_MAGIC:
    case DEVPTS_SUPER_MAGIC:
    case PSTOREFS_MAGIC:
    case EFIVARFS_MAGIC:
    case BINFMTFS_MAGIC:
    case NSFS_MAGIC:
      return true;
    default:
      return false;
  }
}

}  // namespace sandglass::os
