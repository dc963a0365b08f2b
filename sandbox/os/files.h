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

// The content of a file of a control group, with one read(2) from its
// beginning: a kernfs file that is shorter than the buffer comes whole
// (seq_read_iter() of Linux). Empty when it can't be read, as when its group is
// gone or `file` is empty.
std::string ReadControlFile(const Fd& file);

// What one read(2) of a list in /proc gives at most: a page, of whole lines.
inline constexpr size_t kProcPageBytes = 4096;

// An ordinary file, at most 64 MiB.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path);

// Writes `text` with a single write(2), as control files want it. False with
// errno on failure.
bool WriteControlFile(int directory, const char* name, absl::string_view text);

// The value of `key` in text of "key value" lines; nullopt when absent.
std::optional<uint64_t> FindKey(absl::string_view text, absl::string_view key);

// A sealed-size anonymous file (memfd_create(2)) with `data`, offset 0.
absl::StatusOr<Fd> MakeMemfd(const char* name, absl::string_view data);

// The same, sealed: nobody can change it any more, whoever gets it.
absl::StatusOr<Fd> MakeSealedMemfd(const char* name, absl::string_view data);

// True when `fd` is of a tmpfs; false also when the kernel doesn't say.
bool IsTmpfs(int fd);

// True when `fd` is of a file system whose files are the kernel's doing (proc,
// sysfs, cgroups and the like): they have no honest size, and reading or
// opening one can do something. Also when the kernel doesn't say.
bool IsKernelFileSystem(int fd);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_FILES_H_
