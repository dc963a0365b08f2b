#include "sandbox/file_agent/file_ops.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "sandbox/file_agent/file_paths.h"
#include "sandbox/os/open_beneath.h"

namespace sandglass::sandbox {
namespace {

bool IsDots(const std::string& name) { return name == "." || name == ".."; }

}  // namespace

FileResult OpenForReading(const os::Fd& root, const internal::OpenFile& request,
                          internal::FileReply& reply, os::Fd& file) {
  struct stat info = {};
  FileResult result = OpenRegular(root, request.path(), file, info);
  if (result.ok()) FillInfo(info, *reply.mutable_info());
  return result;
}

FileResult Stat(const os::Fd& root, const internal::StatFile& request,
                internal::FileReply& reply) {
  if (FileResult result = CheckPath(request.path()); !result.ok()) {
    return result;
  }
  const os::Fd file =
      os::OpenInRoot(root, request.path().c_str(),
                     O_PATH | (request.no_follow() ? O_NOFOLLOW : 0));
  struct stat info = {};
  if (!file.valid() || ::fstat(file.get(), &info) != 0) {
    return ResultOfErrno(errno);
  }
  FillInfo(info, *reply.mutable_info());
  if (S_ISLNK(info.st_mode)) {
    reply.mutable_info()->set_link_target(ReadLink(file.get(), ""));
  }
  return {};
}

FileResult MakeDirectory(const os::Fd& root,
                         const internal::MakeDirectory& request) {
  Place place;
  if (FileResult result =
          FindPlace(root, request.path(), request.make_parents(), place);
      !result.ok()) {
    return result;
  }
  if (::mkdirat(place.directory.get(), place.name.c_str(),
                request.mode() & 07777) == 0) {
    return {};
  }
  const FileResult result = ResultOfErrno(errno);
  if (result.error != EEXIST || !request.make_parents()) return result;
  // As with parents: an existing directory is fine, also behind a link.
  const os::Fd there =
      os::OpenInRoot(root, request.path().c_str(), O_PATH | O_DIRECTORY);
  return there.valid() ? FileResult{} : result;
}

FileResult RemoveOne(const os::Fd& root, const internal::RemoveFile& request,
                     internal::FileReply& reply) {
  Place place;
  if (FileResult result = FindPlace(root, request.path(), false, place);
      !result.ok()) {
    return result;
  }
  if (IsDots(place.name)) return {FileCode::kBusy, EBUSY};
  const int at = place.directory.get();
  if (::unlinkat(at, place.name.c_str(), 0) != 0) {
    // For a directory POSIX says EPERM, and Linux EISDIR.
    if (errno != EISDIR && errno != EPERM) return ResultOfErrno(errno);
    const int first = errno;
    if (::unlinkat(at, place.name.c_str(), AT_REMOVEDIR) != 0) {
      return ResultOfErrno(errno == ENOTDIR ? first : errno);
    }
  }
  reply.set_count(1);
  return {};
}

FileResult Rename(const os::Fd& root, const internal::MoveFile& request) {
  Place from, to;
  if (FileResult result = FindPlace(root, request.from(), false, from);
      !result.ok()) {
    return result;
  }
  // Before directories are made for something that doesn't exist.
  struct stat info = {};
  if (::fstatat(from.directory.get(), from.name.c_str(), &info,
                AT_SYMLINK_NOFOLLOW) != 0) {
    return ResultOfErrno(errno);
  }
  if (FileResult result =
          FindPlace(root, request.to(), request.make_parents(), to);
      !result.ok()) {
    return result;
  }
  if (IsDots(from.name) || IsDots(to.name)) return {FileCode::kBusy, EBUSY};
  if (::renameat2(from.directory.get(), from.name.c_str(), to.directory.get(),
                  to.name.c_str(),
                  request.overwrite() ? 0 : RENAME_NOREPLACE) == 0) {
    return {};
  }
  // EINVAL: a directory was to be moved into itself.
  if (errno == EINVAL) return {FileCode::kInvalidPath, errno};
  return ResultOfErrno(errno);
}

}  // namespace sandglass::sandbox
