#ifndef SANDGLASS_CLIENT_BASE_FILE_IO_H_
#define SANDGLASS_CLIENT_BASE_FILE_IO_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sandglass::client {

// A file's content, and whether it has an execute bit.
struct FileContent {
  std::string bytes;
  bool executable = false;
};

// Reads a file (which may be a FIFO or device) or, for "-", standard input to
// its end. INVALID_ARGUMENT for more than `max_bytes`; for a directory or an
// unreadable file an error that names it.
absl::StatusOr<FileContent> ReadInput(const std::string& path,
                                      size_t max_bytes);

// Opens those of the descriptors 0, 1 and 2 that are closed, so that nothing
// that is opened later gets their numbers: standard input is then at its end,
// and writing to standard output or error fails. Call it at the start of a
// program.
void FillStandardDescriptors();

// Whether the environment's locale names a character set other than UTF-8, as
// de_DE.ISO-8859-1 does. One that names none, such as C, says nothing of the
// terminal.
bool LocaleIsNotUtf8();

// Writes all bytes, and waits if `fd` is non-blocking. Returns 0 or an errno
// (EPIPE when the reader has gone away: SIGPIPE must be ignored). A terminal
// gets AsciiText where LocaleIsNotUtf8.
int WriteAll(int fd, absl::string_view bytes);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_BASE_FILE_IO_H_
