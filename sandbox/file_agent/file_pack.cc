// Packs trees as archives, and copies trees by way of one.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "sandbox/archive/tar.h"
#include "sandbox/archive/unpack.h"
#include "sandbox/file_agent/file_ops.h"
#include "sandbox/file_agent/file_paths.h"
#include "sandbox/file_agent/file_trees.h"
#include "sandbox/file_agent/tree_walk.h"
#include "sandbox/os/io.h"

namespace sandglass::sandbox {
namespace {

constexpr size_t kMaxPacked = 1'000'000;

// Where an archive is written to: a pipe with a reader, or a file.
class Output {
 public:
  Output(FileTask& task, const os::Fd& fd, uint64_t max_bytes)
      : task_(task), fd_(fd), max_bytes_(max_bytes) {
    struct stat info = {};
    regular_ = ::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode);
  }

  FileResult Put(absl::string_view data) {
    if (max_bytes_ > 0 && data.size() > max_bytes_ - bytes_) {
      return {FileCode::kTooLarge, EFBIG};
    }
    bytes_ += data.size();
    buffer_.append(data.data(), data.size());
    return buffer_.size() < os::kFileChunkBytes ? FileResult{} : Flush();
  }

  FileResult Flush() {
    absl::string_view rest = buffer_;
    while (!rest.empty()) {
      if (regular_ ? task_.Cancelled() : !task_.AwaitWritable(fd_.get())) {
        return {FileCode::kCancelled, 0};
      }
      const ssize_t put =
          regular_ ? ::write(fd_.get(), rest.data(), rest.size())
                   : os::WriteNow(fd_.get(), rest.data(), rest.size());
      if (put < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (put < 0) return ResultOfErrno(errno);
      rest.remove_prefix(static_cast<size_t>(put));
    }
    buffer_.clear();
    return {};
  }

  uint64_t bytes() const { return bytes_; }

 private:
  FileTask& task_;
  const os::Fd& fd_;
  const uint64_t max_bytes_;
  bool regular_ = false;
  std::string buffer_;
  uint64_t bytes_ = 0;
};

class Packer : public TreeVisitor {
 public:
  Packer(FileTask& task, Output& output,
         OwnRights rights = OwnRights::kAsTheyAre)
      : task_(task),
        output_(output),
        rights_(rights),
        buffer_(new char[os::kFileChunkBytes]) {}

  Next Enter(const TreeEntry& entry) override {
    if (task_.Cancelled()) result_ = {FileCode::kCancelled, 0};
    if (!result_.ok()) return Next::kStop;
    // Unpack wouldn't accept it.
    if (entry.path.size() > kMaxMemberPath) {
      ++left_out_;
      return Next::kSkip;
    }
    TarMember member;
    member.path = std::string(entry.path);
    member.mode = entry.info.st_mode & 07777;
    member.mtime = entry.info.st_mtim;
    if (S_ISDIR(entry.info.st_mode)) {
      member.type = TarType::kDirectory;
      Begin(member);
    } else if (S_ISREG(entry.info.st_mode)) {
      PackFile(entry, member);
    } else if (S_ISLNK(entry.info.st_mode)) {
      member.type = TarType::kSymlink;
      member.link = ReadLink(entry.directory, entry.name.c_str());
      if (member.link.empty()) {
        ++left_out_;
      } else {
        Begin(member);
      }
    } else {
      ++left_out_;
    }
    return result_.ok() ? Next::kGoOn : Next::kStop;
  }

  bool Unreadable(absl::string_view /*path*/, int /*error*/) override {
    ++left_out_;
    return true;
  }

  FileResult result() const { return result_; }
  uint64_t entries() const { return entries_; }
  uint64_t left_out() const { return left_out_; }

 private:
  void Begin(const TarMember& member) {
    ++entries_;
    Put(TarHeader(member));
  }

  void Put(absl::string_view data) {
    if (result_.ok()) result_ = output_.Put(data);
  }

  void PackFile(const TreeEntry& entry, TarMember& member) {
    os::Fd file;
    struct stat info = {};
    const auto open =
        rights_ == OwnRights::kLend ? OpenOwnRegularAt : OpenRegularAt;
    if (!open(entry.directory, entry.name.c_str(), file, info).ok()) {
      ++left_out_;
      return;
    }
    if (info.st_nlink > 1) {
      const auto [first, added] =
          links_.try_emplace({info.st_dev, info.st_ino}, member.path);
      if (!added) {
        member.type = TarType::kHardLink;
        member.link = first->second;
        return Begin(member);
      }
    }
    member.size = static_cast<uint64_t>(info.st_size);
    Begin(member);
    PackContent(file, member.size);
  }

  // Writes as many bytes as the header says, whatever happens to the file
  // meanwhile.
  void PackContent(const os::Fd& file, uint64_t size) {
    uint64_t left = size;
    bool ended = false;
    while (left > 0 && result_.ok()) {
      const auto wanted =
          static_cast<size_t>(std::min<uint64_t>(left, os::kFileChunkBytes));
      ssize_t got = 0;
      if (!ended) {
        do {
          got = ::read(file.get(), buffer_.get(), wanted);
        } while (got < 0 && errno == EINTR);
      }
      if (got <= 0) {
        ended = true;
        std::fill_n(buffer_.get(), wanted, '\0');
        got = static_cast<ssize_t>(wanted);
      }
      Put({buffer_.get(), static_cast<size_t>(got)});
      left -= static_cast<uint64_t>(got);
    }
    Put(std::string(TarPadding(size), '\0'));
  }

  FileTask& task_;
  Output& output_;
  const OwnRights rights_;
  const std::unique_ptr<char[]> buffer_;
  // Where the first name of each file is that has several names.
  std::map<std::pair<dev_t, ino_t>, std::string> links_;
  FileResult result_;
  uint64_t entries_ = 0;
  uint64_t left_out_ = 0;
};

FileResult UnpackInto(FileTask& task, const os::Fd& directory,
                      const os::Fd& archive, uint64_t max_bytes,
                      uint64_t max_entries, bool as_far_as_possible,
                      internal::FileReply& reply) {
  struct stat info = {};
  if (::fstat(archive.get(), &info) != 0) return ResultOfErrno(errno);
  const bool regular = S_ISREG(info.st_mode);
  off_t offset = 0;
  std::string buffer;
  size_t taken = 0;
  const auto fill = [&]() -> ssize_t {
    if (regular ? task.Cancelled() : !task.AwaitReadable(archive.get())) {
      return -1;
    }
    buffer.resize(os::kFileChunkBytes);
    ssize_t got;
    do {
      got = regular ? ::pread(archive.get(), buffer.data(), os::kFileChunkBytes,
                              offset)
                    : ::read(archive.get(), buffer.data(), os::kFileChunkBytes);
    } while (got < 0 && errno == EINTR);
    taken = 0;
    buffer.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    offset += std::max<ssize_t>(got, 0);
    return got;
  };
  TarReader reader([&](char* data, size_t size) -> ssize_t {
    if (taken == buffer.size()) {
      if (const ssize_t got = fill(); got <= 0) return got;
    }
    const size_t given = std::min(size, buffer.size() - taken);
    buffer.copy(data, given, taken);
    taken += given;
    return static_cast<ssize_t>(given);
  });
  Unpacker unpacker(directory, max_bytes, max_entries);
  const FileResult result = as_far_as_possible
                                ? unpacker.RunAsFarAsPossible(reader)
                                : unpacker.Run(reader);
  reply.set_count(unpacker.entries());
  reply.set_bytes(unpacker.bytes());
  reply.set_left_out(unpacker.left_out());
  reply.set_missing_count(unpacker.missing_count());
  for (const Unpacker::Missing& missing : unpacker.missing()) {
    internal::MissingMember& told = *reply.add_missing();
    told.set_path(missing.path);
    told.set_code(static_cast<int>(missing.why.code));
    told.set_error(missing.why.error);
  }
  if (!result.ok()) return result;
  // The writing side may still have to send what fills its last block.
  while (!regular) {
    const ssize_t got = fill();
    if (got <= 0) break;
  }
  return {};
}

// Starts the reading half of a copy in a process of its own.
pid_t StartPacking(FileTask& task, const os::Fd& source, os::Fd& archive) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return -1;
  os::Fd reading(ends[0]);
  const os::Fd writing(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    reading.reset();
    Output output(task, writing, 0);
    Packer packer(task, output);
    const WalkEnd end = WalkTree(source, kMaxPacked, packer);
    FileResult result = packer.result();
    if (result.ok() && end != WalkEnd::kWhole) {
      result.code = FileCode::kBusyChanged;
    }
    if (result.ok() && packer.left_out() > 0) {
      result.code = FileCode::kPermissionDenied;
    }
    if (result.ok()) result = output.Put(TarEnd());
    if (result.ok()) result = output.Flush();
    ::_exit(static_cast<int>(result.code));
  }
  archive = std::move(reading);
  return pid;
}

}  // namespace

FileResult Pack(FileTask& task, const internal::PackTree& request,
                const os::Fd& archive, internal::FileReply& reply) {
  os::Fd directory;
  if (FileResult result = OpenDirectory(task.root(), request.path(), directory);
      !result.ok()) {
    return result;
  }
  Output output(task, archive, request.max_bytes());
  const OwnRights rights =
      request.whole() ? OwnRights::kLend : OwnRights::kAsTheyAre;
  Packer packer(task, output, rights);
  const WalkEnd end = WalkTree(directory, kMaxPacked, packer, rights);
  FileResult result = packer.result();
  if (result.ok() && end == WalkEnd::kBound) result.code = FileCode::kTooLarge;
  if (result.ok() && end == WalkEnd::kMoved) {
    result.code = FileCode::kBusyChanged;
  }
  if (result.ok()) result = output.Put(TarEnd());
  if (result.ok()) result = output.Flush();
  reply.set_count(packer.entries());
  reply.set_bytes(output.bytes());
  reply.set_left_out(packer.left_out());
  return result;
}

FileResult Unpack(FileTask& task, const internal::UnpackTree& request,
                  const os::Fd& archive, internal::FileReply& reply) {
  os::Fd directory;
  if (FileResult result = FindDirectory(task.root(), request.path(),
                                        request.make_parents(), directory);
      !result.ok()) {
    return result;
  }
  return UnpackInto(task, directory, archive, request.max_bytes(),
                    request.max_entries(), request.as_far_as_possible(), reply);
}

FileResult CopyDirectory(FileTask& task, const os::Fd& source, int at,
                         const std::string& name, uint64_t& entries) {
  struct stat info = {};
  if (::fstat(source.get(), &info) != 0 ||
      ::mkdirat(at, name.c_str(), 0700) != 0) {
    return ResultOfErrno(errno);
  }
  const os::Fd target(::openat(
      at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!target.valid()) return ResultOfErrno(errno);
  os::Fd archive;
  const pid_t pid = StartPacking(task, source, archive);
  if (pid < 0) return ResultOfErrno(errno);
  internal::FileReply reply;
  FileResult result = UnpackInto(task, target, archive, UINT64_MAX >> 1,
                                 kMaxPacked, false, reply);
  entries = reply.count();
  archive.reset();
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status)
                                     : static_cast<int>(FileCode::kFailed);
  // An error of the reading side takes precedence: the other side only sees the
  // archive end.
  const bool known = code > 0 && code < kFileCodeCount;
  if (known && (result.ok() || result.code == FileCode::kIncomplete)) {
    result = {static_cast<FileCode>(code), 0};
  }
  if (result.ok() && ::fchmod(target.get(), info.st_mode & 07777) != 0) {
    result = ResultOfErrno(errno);
  }
  return result;
}

}  // namespace sandglass::sandbox
