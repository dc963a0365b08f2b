#ifndef SANDGLASS_POLICY_LIBRARIES_LIBRARY_LOCK_H_
#define SANDGLASS_POLICY_LIBRARIES_LIBRARY_LOCK_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "policy/libraries/libraries.h"

namespace sandglass::policy {

inline constexpr size_t kMaxLockBytes = size_t{1} << 20;
inline constexpr size_t kMaxLockEntries = 2000;

// A file for the installer: its path below the jail's workspace and its
// content, which is printable ASCII and line ends.
struct LockFile {
  std::string path;
  std::string text;
  friend bool operator==(const LockFile&, const LockFile&) = default;
};

// The content of a request's lock file, parsed and checked. Everything that the
// installer gets is written anew from it: names, versions, checksums, and
// dependencies; it contains no address, path, option or text for a shell. Two
// lock files with the same content are equal, whatever its order.
struct LibraryLock {
  // Everything that may be installed, sorted by name, each with one version in
  // the form of requests ("==1.16.0", "4.17.21", "v0.3.7"). A name may occur
  // several times: npm nests versions, and pip chooses by platform.
  std::vector<Library> entries;
  // The files for the installer, which don't depend on what is requested.
  std::vector<LockFile> files;
  // For npm: the members of "packages", without the root's.
  std::string node_packages;

  friend bool operator==(const LibraryLock&, const LibraryLock&) = default;
};

// Parses the libraries of a request and its lock file. One of the two may be
// empty, and is then treated as absent. If both are there, `libraries` name
// some of those in the lock. With a lock alone, everything at its top level is
// requested: the root's dependencies (npm), DEPENDENCIES (ruby), all of it
// (python). The accepted locks are:
//   python  requirements with "==" and "--hash", as `pip-compile
//           --generate-hashes` and `uv export` write them
//   npm     package-lock.json, version 2 or 3
//   ruby    Gemfile.lock; its checksums are used where it has them
//   go      go.sum, together with libraries
// INVALID_ARGUMENT: what LibrarySet::Parse refuses; a lock of another form, one
// beyond the bounds, or one with a library that doesn't come from a registry or
// has no checksum, with the place and what to write instead; libraries that
// aren't in the lock.
absl::StatusOr<LibrarySet> ParseLibraryRequest(
    Ecosystem ecosystem, const std::vector<std::string>& libraries,
    std::string_view lock);

// The field of the request that such an error is about: "libraries" or
// "library_lock".
std::string_view LibraryErrorField(const absl::Status& error);

// The files that the installer gets for the lock of a set; empty when it has
// none.
std::vector<LockFile> LockFiles(const LibrarySet& set);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_LIBRARY_LOCK_H_
