#ifndef SANDGLASS_SANDBOX_JAILED_WORKSPACE_H_
#define SANDGLASS_SANDBOX_JAILED_WORKSPACE_H_

#include <functional>
#include <string>

#include "absl/types/span.h"
#include "internal/spawner.pb.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/setup_step.h"

namespace sandglass::sandbox {

// Writes the files of `request` below /workspace, reading their contents one
// after another from `content`. With the code's rights; never through a
// symbolic link. False with errno on failure (ENOSPC: the file system is full,
// ENODATA: `content` is too short).
// A file that is `shared` is read whole from its own among `shared`, wherever
// that stands (EBADMSG: there are too few).
bool StageFiles(const internal::StartProgram& request, const os::Fd& content,
                absl::Span<const os::Fd> shared);
// The same in any directory and with the caller's rights.
bool StageFilesIn(const os::Fd& workspace,
                  const internal::StartProgram& request, const os::Fd& content,
                  absl::Span<const os::Fd> shared);

// Called for each file; `file` is open for reading when `problem` is kNone.
using FileSink = std::function<void(const std::string& path,
                                    FileProblem problem, os::Fd file)>;

// Opens what matches `patterns` (policy/text/paths.h) below /workspace with the
// code's rights: regular files only, never out of /workspace, never waiting. A
// pattern that matches nothing is reported once as kNotFound. Returns true when
// everything was looked at, false when a bound (files, directory entries,
// depth) cut it short.
bool FindFiles(const internal::CollectFiles& request, const FileSink& sink);
// The same in any directory and with the caller's rights.
bool FindFilesIn(const os::Fd& workspace, const internal::CollectFiles& request,
                 const FileSink& sink);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_WORKSPACE_H_
