#ifndef SANDGLASS_CLIENT_BASE_FILE_IO_H_
#define SANDGLASS_CLIENT_BASE_FILE_IO_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sandglass::client {

// What was read, and whether the file has an execute bit.
struct FileContent {
  std::string bytes;
  bool executable = false;
};

// Reads a file (a FIFO or device too) or, for "-", standard input, to its end.
// More than `max_bytes` is INVALID_ARGUMENT, a directory or an unreadable file
// an error that names it.
absl::StatusOr<FileContent> ReadInput(const std::string& path,
                                      size_t max_bytes);

// Opens what is closed of descriptors 0, 1 and 2, so that nothing else that is
// opened later is taken for them: standard input is at its end then, and
// writing to standard output or error fails. For the start of a program.
void FillStandardDescriptors();

// Writes all bytes, waiting where `fd` does not block. Returns 0 or an errno
// (EPIPE when the reader went away: SIGPIPE must be ignored).
int WriteAll(int fd, absl::string_view bytes);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_BASE_FILE_IO_H_
