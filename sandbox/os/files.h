#ifndef SANDGLASS_SANDBOX_OS_FILES_H_
#define SANDGLASS_SANDBOX_OS_FILES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sandbox/os/fd.h"

namespace sandglass::os {

// Reads a small kernel file (proc, sysfs, cgroupfs) whole, at most 64 KiB.
// `directory` is a descriptor or AT_FDCWD.
absl::StatusOr<std::string> ReadSmallFile(int directory, const char* name);

// Returns the content of a control group's file, read from its beginning with
// one read(2): a kernfs file that is shorter than the buffer is returned whole
// (seq_read_iter() of Linux). Empty when the file can't be read, for example
// when its group is gone or `file` is empty.
std::string ReadControlFile(const Fd& file);

// What one read(2) of a list in /proc gives at most: a page, of whole lines.
inline constexpr size_t kProcPageBytes = 4096;

// An ordinary file, at most 64 MiB.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path);

// Writes `text` with a single write(2), as control files require. Returns false
// and sets errno on failure.
bool WriteControlFile(int directory, const char* name, absl::string_view text);

// The value of `key` in a text whose lines are "key value"; nullopt when there
// is no such line.
std::optional<uint64_t> FindKey(absl::string_view text, absl::string_view key);

// Makes an anonymous file (memfd_create(2)) of a sealed size that holds `data`;
// its offset is 0.
absl::StatusOr<Fd> MakeMemfd(const char* name, absl::string_view data);

// The same, but the content is sealed too: nobody who gets the descriptor can
// change it any more.
absl::StatusOr<Fd> MakeSealedMemfd(const char* name, absl::string_view data);

// True when `fd` is on a tmpfs. False also when the kernel doesn't say.
bool IsTmpfs(int fd);

// True when `fd` is on a file system whose files the kernel generates (proc,
// sysfs, cgroups and the like): their sizes aren't true, and reading or opening
// one can have side effects. True also when the kernel doesn't say.
bool IsKernelFileSystem(int fd);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_FILES_H_
