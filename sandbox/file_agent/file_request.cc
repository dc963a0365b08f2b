#include "sandbox/file_agent/file_request.h"

#include "sandbox/file_agent/file_ops.h"
#include "sandbox/file_agent/new_file.h"

namespace sandglass::sandbox {
namespace {

using Operation = internal::FileRequest;

size_t WantedFds(const internal::FileRequest& request) {
  switch (request.operation_case()) {
    case Operation::kWrite:
      return request.write().with_descriptor() ? 1 : 0;
    case Operation::kEdit:
      return request.edit().old_size() > 0 ? 1 : 0;
    case Operation::kPack:
    case Operation::kUnpack:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

bool ReadFileRequest(absl::string_view data, size_t fds,
                     internal::FileRequest& request) {
  return request.ParseFromArray(data.data(), static_cast<int>(data.size())) &&
         request.operation_case() != Operation::OPERATION_NOT_SET &&
         internal::WriteDisposition_IsValid(request.write().disposition()) &&
         fds == WantedFds(request);
}

bool IsNote(const internal::FileRequest& request) {
  switch (request.operation_case()) {
    case Operation::kCancel:
    case Operation::kGoOn:
    case Operation::kCommit:
    case Operation::kRescan:
      return true;
    default:
      return false;
  }
}

FileResult RunTask(FileTask& task, const internal::FileRequest& request,
                   const os::Fd& data, internal::FileReply& reply) {
  switch (request.operation_case()) {
    case Operation::kWrite:
      return request.write().with_descriptor()
                 ? WriteFrom(task, request.write(), data, reply)
                 : WriteAtOnce(task.root(), request.write(), reply);
    case Operation::kList:
      return ListNames(task, request.list(), reply);
    case Operation::kRemove:
      return RemoveTree(task, request.remove(), reply);
    case Operation::kMove:
      return MoveTree(task, request.move(), reply);
    case Operation::kCopy:
      return CopyTree(task, request.copy(), reply);
    case Operation::kGlob:
      return FindByGlob(task, request.glob(), reply);
    case Operation::kGrep:
      return SearchText(task, request.grep(), reply);
    case Operation::kEdit:
      return Edit(task, request.edit(), data, reply);
    case Operation::kTrack:
      return Track(task, request.track(), reply);
    case Operation::kPack:
      return Pack(task, request.pack(), data, reply);
    case Operation::kUnpack:
      return Unpack(task, request.unpack(), data, reply);
    default:
      return {FileCode::kBadRequest, 0};
  }
}

}  // namespace sandglass::sandbox
