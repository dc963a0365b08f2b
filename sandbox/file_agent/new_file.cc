#include "sandbox/file_agent/new_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "sandbox/os/io.h"

namespace sandglass::sandbox {
namespace {

constexpr mode_t kUsualMode = 0644;

// Reads the next bytes of `source`; if that is a regular file, those at
// `offset`. Returns -1 and sets errno on failure.
ssize_t ReadSome(const os::Fd& source, bool regular, uint64_t offset,
                 char* buffer, size_t size) {
  ssize_t got;
  do {
    got = regular
              ? ::pread(source.get(), buffer, size, static_cast<off_t>(offset))
              : ::read(source.get(), buffer, size);
  } while (got < 0 && errno == EINTR);
  return got;
}

void ReportWritten(const NewFile& file, internal::FileReply& reply) {
  struct stat info = {};
  if (::fstat(file.fd(), &info) == 0) FillInfo(info, *reply.mutable_info());
}

}  // namespace

NewFile::~NewFile() {
  if (!temporary_.empty()) {
    ::unlinkat(place_.directory.get(), temporary_.c_str(), 0);
  }
}

FileResult NewFile::CheckOld() const {
  if (!old_.has_value()) return {};
  if (S_ISDIR(old_->st_mode)) return {FileCode::kIsDirectory, EISDIR};
  if (disposition_ == internal::WRITE_CREATE_NEW) {
    return {FileCode::kExists, EEXIST};
  }
  if (!S_ISREG(old_->st_mode)) return {FileCode::kNotRegular, 0};
  // A file that can't be written isn't replaced either, although the rights on
  // its directory would allow it.
  if (::faccessat(place_.directory.get(), place_.name.c_str(), W_OK,
                  AT_EACCESS) != 0) {
    return ResultOfErrno(errno);
  }
  return {};
}

FileResult NewFile::MakeTemporary() {
  constexpr int kTries = 16;
  for (int i = 0; i < kTries; ++i) {
    const std::string name = TemporaryName();
    if (name.empty()) return ResultOfErrno(errno);
    file_.reset(::openat(place_.directory.get(), name.c_str(),
                         O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         0600));
    if (file_.valid()) {
      temporary_ = name;
      return {};
    }
    if (errno != EEXIST) return ResultOfErrno(errno);
  }
  return {FileCode::kFailed, EEXIST};
}

FileResult NewFile::AppendToOld() {
  os::Fd old;
  struct stat info = {};
  if (FileResult result =
          OpenRegularFor(O_WRONLY | O_APPEND, place_.directory.get(),
                         place_.name.c_str(), old, info);
      !result.ok()) {
    return result;
  }
  if (set_mode_ && ::fchmod(old.get(), mode_) != 0) {
    return ResultOfErrno(errno);
  }
  if (written_ > 0) {
    // Reserves the room first: if not everything fits, no part shall be
    // written. A file system that can't reserve room writes as far as it can.
    if (::fallocate(old.get(), FALLOC_FL_KEEP_SIZE, info.st_size,
                    static_cast<off_t>(written_)) != 0 &&
        (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
      return ResultOfErrno(errno);
    }
    // With a single write, so that what others append meanwhile comes before or
    // after it. The kernel reads the mapped bytes, so that if the code
    // truncates the file meanwhile, the write fails instead of a signal being
    // sent.
    const size_t size = static_cast<size_t>(written_);
    void* const bytes =
        ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file_.get(), 0);
    if (bytes == MAP_FAILED) return ResultOfErrno(errno);
    const bool done =
        os::WriteAll(old.get(), {static_cast<const char*>(bytes), size});
    const int error = errno;
    ::munmap(bytes, size);
    if (!done) return ResultOfErrno(error);
  }
  // ReportWritten reports on this file.
  file_ = std::move(old);
  return {};
}

FileResult NewFile::Begin(const os::Fd& root,
                          const internal::WriteFile& request) {
  disposition_ = request.disposition();
  max_bytes_ = request.max_bytes();
  if (FileResult result = FindTarget(root, request.path(),
                                     request.make_parents(), place_, old_);
      !result.ok()) {
    return result;
  }
  if (FileResult result = CheckOld(); !result.ok()) return result;
  set_mode_ = request.set_mode();
  // As with any write to a file, its set-user-ID and set-group-ID bits don't
  // pass on to the new content.
  mode_ = request.set_mode()   ? request.mode() & 07777
          : old_.has_value()   ? old_->st_mode & 01777
          : request.mode() > 0 ? request.mode() & 07777
                               : kUsualMode;
  return MakeTemporary();
}

FileResult NewFile::Write(absl::string_view data) {
  if (max_bytes_ > 0 && data.size() > max_bytes_ - written_) {
    return {FileCode::kTooLarge, EFBIG};
  }
  if (!os::WriteAll(file_.get(), data)) return ResultOfErrno(errno);
  written_ += data.size();
  return {};
}

FileResult NewFile::Rename(unsigned flags) {
  if (::fchmod(file_.get(), mode_) != 0) return ResultOfErrno(errno);
  const int at = place_.directory.get();
  if (::renameat2(at, temporary_.c_str(), at, place_.name.c_str(), flags) !=
      0) {
    return ResultOfErrno(errno);
  }
  return {};
}

FileResult NewFile::Commit() {
  FileResult result;
  if (disposition_ == internal::WRITE_APPEND) {
    // Other processes may make and remove the file meanwhile, hence several
    // tries.
    constexpr int kTries = 16;
    for (int i = 0; i < kTries; ++i) {
      result = AppendToOld();
      if (result.code != FileCode::kNotFound) return result;
      result = Rename(RENAME_NOREPLACE);
      if (result.code != FileCode::kExists) break;
      result = {FileCode::kBusyChanged, 0};
    }
  } else {
    result = Rename(
        disposition_ == internal::WRITE_CREATE_NEW ? RENAME_NOREPLACE : 0);
  }
  if (result.ok()) temporary_.clear();
  return result;
}

FileResult NewFile::ChangePlaces() { return Rename(RENAME_EXCHANGE); }

std::optional<struct stat> NewFile::FactsOf(const std::string& name) const {
  struct stat info = {};
  if (::fstatat(place_.directory.get(), name.c_str(), &info,
                AT_SYMLINK_NOFOLLOW) != 0) {
    return std::nullopt;
  }
  return info;
}

std::optional<struct stat> NewFile::Aside() const {
  return FactsOf(temporary_);
}

std::optional<struct stat> NewFile::Named() const {
  return FactsOf(place_.name);
}

FileResult WriteAtOnce(const os::Fd& root, const internal::WriteFile& request,
                       internal::FileReply& reply) {
  NewFile file;
  FileResult result = file.Begin(root, request);
  if (result.ok()) result = file.Write(request.content());
  if (result.ok()) result = file.Commit();
  if (result.ok()) ReportWritten(file, reply);
  return result;
}

FileResult WriteFrom(FileTask& task, const internal::WriteFile& request,
                     const os::Fd& source, internal::FileReply& reply) {
  struct stat kind = {};
  if (::fstat(source.get(), &kind) != 0) return ResultOfErrno(errno);
  const bool regular = S_ISREG(kind.st_mode);
  NewFile file;
  if (FileResult result = file.Begin(task.root(), request); !result.ok()) {
    return result;
  }
  const std::unique_ptr<char[]> buffer(new char[os::kFileChunkBytes]);
  while (!request.sized() || file.written() < request.size()) {
    if (regular ? task.Cancelled() : !task.AwaitReadable(source.get())) {
      return {FileCode::kCancelled, 0};
    }
    const uint64_t wanted =
        request.sized() ? request.size() - file.written() : os::kFileChunkBytes;
    const ssize_t got =
        ReadSome(source, regular, file.written(), buffer.get(),
                 std::min<uint64_t>(wanted, os::kFileChunkBytes));
    if (got < 0) return ResultOfErrno(errno);
    if (got == 0) break;
    if (FileResult result =
            file.Write({buffer.get(), static_cast<size_t>(got)});
        !result.ok()) {
      return result;
    }
  }
  uint64_t announced = request.size();
  if (!request.sized()) {
    // A pipe also reports its end when its writer died halfway, so this waits
    // for the commit.
    const std::optional<TaskNote> note = task.AwaitNote(-1);
    if (!note.has_value() || note->kind != TaskNote::kCommit) {
      return {FileCode::kCancelled, 0};
    }
    announced = note->value;
  }
  if (file.written() != announced) return {FileCode::kIncomplete, 0};
  FileResult result = file.Commit();
  if (result.ok()) ReportWritten(file, reply);
  return result;
}

}  // namespace sandglass::sandbox
