#ifndef SANDGLASS_SANDBOX_FILE_AGENT_FILE_REQUEST_H_
#define SANDGLASS_SANDBOX_FILE_AGENT_FILE_REQUEST_H_

#include <cstddef>

#include "absl/strings/string_view.h"
#include "internal/files.pb.h"
#include "sandbox/file_agent/file_task.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/file_code.h"

namespace sandglass::sandbox {

// Reads a request that came with `fds` descriptors. False when it isn't a valid
// one: without an operation, with too many or too few descriptors, or with an
// unknown enumerator.
bool ReadFileRequest(absl::string_view data, size_t fds,
                     internal::FileRequest& request);

// Whether it concerns an operation that is already in progress.
bool IsNote(const internal::FileRequest& request);

// Does an operation that has a process of its own. `data`: the descriptor that
// came with the request.
FileResult RunTask(FileTask& task, const internal::FileRequest& request,
                   const os::Fd& data, internal::FileReply& reply);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILE_AGENT_FILE_REQUEST_H_
