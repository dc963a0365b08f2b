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

// Checks that the path is absolute and that the kernel could resolve it.
FileResult CheckPath(absl::string_view path);

// A name in an open directory (O_PATH): all links above the name have been
// followed already.
struct Place {
  os::Fd directory;
  std::string name;  // never with a slash; "." for the root itself
  std::string path;
};

// Finds the place of `path`. If the name itself is a link, it isn't followed.
FileResult FindPlace(const os::Fd& root, const std::string& path,
                     bool make_parents, Place& place);
// The same for a file that is to be written: links are followed to where the
// file is or would be. `old` gets the facts of what exists there already.
FileResult FindTarget(const os::Fd& root, std::string path, bool make_parents,
                      Place& place, std::optional<struct stat>& old);

// Opens a directory with O_PATH. With `make`, makes it first if it is missing.
FileResult FindDirectory(const os::Fd& root, const std::string& path, bool make,
                         os::Fd& directory);
// The same, but opened so that its names can be read.
FileResult OpenDirectory(const os::Fd& root, const std::string& path,
                         os::Fd& directory);

// Opens a regular file for reading. Doesn't wait for other processes, and opens
// no device, FIFO or file of /proc.
FileResult OpenRegular(const os::Fd& root, const std::string& path,
                       os::Fd& file, struct stat& info);
// The same for a name in an open directory; links aren't followed.
FileResult OpenRegularAt(int directory, const char* name, os::Fd& file,
                         struct stat& info);
// The same with `flags`: O_RDONLY, O_RDWR, or O_WRONLY with O_APPEND.
FileResult OpenRegularFor(int flags, int directory, const char* name,
                          os::Fd& file, struct stat& info);

// Whether both are of the same file or directory.
bool SameFile(const struct stat& one, const struct stat& other);

// Fills in what is reported about a file, except its name and a link's target.
void FillInfo(const struct stat& info, internal::FileInfo& told);
// Makes up a name for something that isn't to be found yet: no other file has
// or will have it. "" with errno set on failure.
std::string TemporaryName();

// The target of the link `name` in an open directory; "" when it can't be read.
std::string ReadLink(int directory, const char* name);

// For comparing times: a time more than 292 years from the epoch becomes the
// furthest that fits.
int64_t NanosOf(const struct timespec& time);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILE_AGENT_FILE_PATHS_H_
