#ifndef SANDGLASS_SERVER_SESSION_COPY_PARTS_H_
#define SANDGLASS_SERVER_SESSION_COPY_PARTS_H_

#include <sys/types.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "internal/durable.pb.h"
#include "sandbox/files/file_types.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/sparse.h"

namespace sandglass::server {

// Parts that SessionStore, SessionCopy and CopyChange share.

// The names in a directory, without "." and ".."; none when it can't be read.
std::vector<std::string> NamesIn(const os::Fd& directory);

inline uint64_t NameBytes(const internal::StoredEntry& entry) {
  return entry.path().size() + entry.link_target().size();
}

// Whether it has a file of its own in the copy. An empty file has one only
// where it has several names, which are known by it.
inline bool HasContent(const internal::StoredEntry& entry) {
  return static_cast<sandbox::FileType>(entry.type()) ==
             sandbox::FileType::kRegular &&
         entry.blob() != 0;
}

inline ssize_t ReadAt(const os::Fd& file, char* data, size_t size,
                      uint64_t offset) {
  return TEMP_FAILURE_RETRY(
      ::pread(file.get(), data, size, static_cast<off_t>(offset)));
}

// Calls `take` for each run of pages in a piece that aren't all zeros, with its
// offset in the piece. Returns false when `take` did.
inline bool ForEachRun(
    absl::string_view piece,
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

inline uint32_t Crc(uint32_t crc, absl::string_view data) {
  return static_cast<uint32_t>(
      ::crc32(crc, reinterpret_cast<const Bytef*>(data.data()),
              static_cast<uInt>(data.size())));
}

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_COPY_PARTS_H_
