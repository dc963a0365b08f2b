#ifndef SANDGLASS_SANDBOX_FILE_AGENT_FILE_OPS_H_
#define SANDGLASS_SANDBOX_FILE_AGENT_FILE_OPS_H_

#include "internal/files.pb.h"
#include "sandbox/file_agent/file_task.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/file_code.h"

namespace sandglass::sandbox {

// Operations that take very little time, so that the agent does them itself.
// Their answer, besides the result, goes into `reply`.
FileResult OpenForReading(const os::Fd& root, const internal::OpenFile& request,
                          internal::FileReply& reply, os::Fd& file);
FileResult Stat(const os::Fd& root, const internal::StatFile& request,
                internal::FileReply& reply);
FileResult MakeDirectory(const os::Fd& root,
                         const internal::MakeDirectory& request);
// Removes one name, not recursively.
FileResult RemoveOne(const os::Fd& root, const internal::RemoveFile& request,
                     internal::FileReply& reply);
// kCrossDevice: the kernel can't do it; the content has to be copied.
FileResult Rename(const os::Fd& root, const internal::MoveFile& request);

// Operations that can take long, so that each has a process of its own. `reply`
// becomes the last reply.
FileResult ListNames(FileTask& task, const internal::ListDirectory& request,
                     internal::FileReply& reply);
FileResult RemoveTree(FileTask& task, const internal::RemoveFile& request,
                      internal::FileReply& reply);
FileResult FindByGlob(FileTask& task, const internal::Glob& request,
                      internal::FileReply& reply);
FileResult SearchText(FileTask& task, const internal::Grep& request,
                      internal::FileReply& reply);
FileResult Edit(FileTask& task, const internal::EditFile& request,
                const os::Fd& texts, internal::FileReply& reply);
FileResult Track(FileTask& task, const internal::TrackTree& request,
                 internal::FileReply& reply);
FileResult Pack(FileTask& task, const internal::PackTree& request,
                const os::Fd& archive, internal::FileReply& reply);
FileResult Unpack(FileTask& task, const internal::UnpackTree& request,
                  const os::Fd& archive, internal::FileReply& reply);
FileResult CopyTree(FileTask& task, const internal::CopyFile& request,
                    internal::FileReply& reply);
// Moves a tree between file systems by copying it.
FileResult MoveTree(FileTask& task, const internal::MoveFile& request,
                    internal::FileReply& reply);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILE_AGENT_FILE_OPS_H_
