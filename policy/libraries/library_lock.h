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

inline constexpr size_t kMostLockBytes = size_t{1} << 20;
inline constexpr size_t kMostLockEntries = 2000;

// A file for the installer: its path below the jail's workspace, and what is in
// it, printable ASCII and line ends.
struct LockFile {
  std::string path;
  std::string text;
  friend bool operator==(const LockFile&, const LockFile&) = default;
};

// What a lock file of a request says, taken apart and checked. All that the
// installer gets is written anew from it: names, versions, checksums, and who
// needs whom; no address, path, option or text for a shell is in it. Two lock
// files that say the same are equal, in whatever order they say it.
struct LibraryLock {
  // All that may be installed, sorted by name, each with one version in the
  // form that requests have ("==1.16.0", "4.17.21", "v0.3.7"). One name may be
  // there several times: npm nests versions, pip chooses by the platform.
  std::vector<Library> entries;
  // What the installer gets, whatever is asked for of it.
  std::vector<LockFile> files;
  // npm's: the members of "packages", without the root's.
  std::string node_packages;

  friend bool operator==(const LibraryLock&, const LibraryLock&) = default;
};

// The libraries of a request and its lock file; one of the two may be empty,
// then it is as if it weren't there. With both, `libraries` name some of those
// that are in the lock. With a lock alone all are asked for that it has at its
// top: the root's dependencies (npm), DEPENDENCIES (ruby), every one (python).
// The locks that are taken:
//   python  requirements with "==" and "--hash", as `pip-compile
//           --generate-hashes` and `uv export` write them
//   npm     package-lock.json, version 2 or 3
//   ruby    Gemfile.lock; checksums are looked at where it has them
//   go      go.sum, together with libraries
// INVALID_ARGUMENT: what LibrarySet::Parse refuses; a lock of another form,
// above the bounds, with a library from elsewhere than a registry or without a
// checksum, with words that say where and what to write instead; libraries that
// aren't in the lock.
absl::StatusOr<LibrarySet> ParseLibraryRequest(
    Ecosystem ecosystem, const std::vector<std::string>& libraries,
    std::string_view lock);

// Which field of the request such an error is about: "libraries" or
// "library_lock".
std::string_view LibraryErrorField(const absl::Status& error);

// What the installer gets for a set's lock; empty without one.
std::vector<LockFile> LockFiles(const LibrarySet& set);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_LIBRARY_LOCK_H_
