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
// after another from `content`. Uses the code's rights and never follows a
// symbolic link. Returns false and sets errno on failure (ENOSPC: the file
// system is full, ENODATA: `content` is too short).
// A file that is marked `shared` is copied whole from its own descriptor in
// `shared`, whatever that one's offset is (EBADMSG: there are too few).
bool StageFiles(const internal::StartProgram& request, const os::Fd& content,
                absl::Span<const os::Fd> shared);
// The same in any directory, with the caller's rights.
bool StageFilesIn(const os::Fd& workspace,
                  const internal::StartProgram& request, const os::Fd& content,
                  absl::Span<const os::Fd> shared);

// Called for each file; `file` is open for reading if `problem` is kNone.
using FileSink = std::function<void(const std::string& path,
                                    FileProblem problem, os::Fd file)>;

// Opens the files below /workspace that match `patterns` (policy/text/paths.h),
// with the code's rights: only regular files, nothing outside of /workspace,
// and without ever blocking. A pattern that matches nothing is reported once as
// kNotFound. Returns true when everything was searched, false when a bound
// (files, directory entries, depth) ended the search early.
bool FindFiles(const internal::CollectFiles& request, const FileSink& sink);
// The same in any directory, with the caller's rights.
bool FindFilesIn(const os::Fd& workspace, const internal::CollectFiles& request,
                 const FileSink& sink);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_WORKSPACE_H_
