#ifndef SANDGLASS_SANDBOX_FILE_AGENT_FILE_PATHS_H_
#define SANDGLASS_SANDBOX_FILE_AGENT_FILE_PATHS_H_

#include <sys/stat.h>

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "internal/files.pb.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/file_code.h"

namespace sandglass::sandbox {

// Whether the kernel could make anything of it, and it is absolute.
FileResult CheckPath(absl::string_view path);

// A name in an open directory (O_PATH): what links above it lead to is settled.
struct Place {
  os::Fd directory;
  std::string name;  // never with a slash; "." for the root itself
  std::string path;
};

// Where `path` is; a link of that name isn't followed.
FileResult FindPlace(const os::Fd& root, const std::string& path,
                     bool make_parents, Place& place);
// The same for what is to be written: links are followed to where the file is
// or would be. `old` has the facts of what is there already.
FileResult FindTarget(const os::Fd& root, std::string path, bool make_parents,
                      Place& place, std::optional<struct stat>& old);

// An O_PATH descriptor of a directory, made first when `make` and it is
// missing.
FileResult FindDirectory(const os::Fd& root, const std::string& path, bool make,
                         os::Fd& directory);
// The same, open for reading its names.
FileResult OpenDirectory(const os::Fd& root, const std::string& path,
                         os::Fd& directory);

// Opens a regular file for reading. Waits for nobody, opens no device, FIFO or
// file of /proc.
FileResult OpenRegular(const os::Fd& root, const std::string& path,
                       os::Fd& file, struct stat& info);
// The same of a name in an open directory; no link is followed.
FileResult OpenRegularAt(int directory, const char* name, os::Fd& file,
                         struct stat& info);
// The same for what `flags` say: O_RDONLY, O_RDWR, or O_WRONLY with O_APPEND.
FileResult OpenRegularFor(int flags, int directory, const char* name,
                          os::Fd& file, struct stat& info);

// Whether both are of one file, or directory.
bool SameFile(const struct stat& one, const struct stat& other);

// What is told of a file, without its name and where it leads to.
void FillInfo(const struct stat& info, internal::FileInfo& told);
// A name for what isn't to be seen yet, which nothing has or will have; "" with
// errno.
std::string TemporaryName();

// Where the link `name` of an open directory leads to; "" when that can't be
// read.
std::string ReadLink(int directory, const char* name);

// To compare times by: one that is more than 292 years from the epoch is taken
// for the furthest there is.
int64_t NanosOf(const struct timespec& time);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILE_AGENT_FILE_PATHS_H_
