#include "sandbox/archive/unpack.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sandbox/os/io.h"
#include "sandbox/os/open_beneath.h"
#include "sandbox/wire/sparse.h"

namespace sandglass::sandbox {
namespace {

constexpr FileResult kBad = {FileCode::kBadArchive, 0};

FileResult LastError() { return ResultOfErrno(errno); }

// The error for a directory of the archive that has meanwhile become something
// else, or a link.
FileResult ParentError() {
  return errno == ELOOP ? FileResult{FileCode::kBadArchive, errno}
                        : LastError();
}

// Writes at the file's offset. Pages of zeros become holes, which they may have
// been when they were packed. Returns false and sets errno on failure.
bool WriteSparse(const os::Fd& file, absl::string_view data) {
  while (!data.empty()) {
    size_t zeros = 0, bytes = 0;
    while (zeros < data.size() && AllZero(data.substr(zeros, kHoleBytes))) {
      zeros = std::min(zeros + kHoleBytes, data.size());
    }
    if (zeros > 0) {
      if (::lseek(file.get(), static_cast<off_t>(zeros), SEEK_CUR) < 0) {
        return false;
      }
      data.remove_prefix(zeros);
      continue;
    }
    while (bytes < data.size() && !AllZero(data.substr(bytes, kHoleBytes))) {
      bytes = std::min(bytes + kHoleBytes, data.size());
    }
    if (!os::WriteAll(file.get(), data.substr(0, bytes))) return false;
    data.remove_prefix(bytes);
  }
  return true;
}

FileResult ResultOf(TarReader::Step step) {
  switch (step) {
    case TarReader::Step::kMember:
    case TarReader::Step::kEnd:
      return {};
    case TarReader::Step::kBad:
      return kBad;
    case TarReader::Step::kCut:
      return {FileCode::kIncomplete, 0};
    case TarReader::Step::kUnreadable:
      return {FileCode::kCancelled, 0};
  }
  return kBad;
}

}  // namespace

FileResult CleanMemberPath(absl::string_view path, std::string& clean) {
  clean.clear();
  if (path.size() >= PATH_MAX || path.empty() || path[0] == '/' ||
      path.find('\0') != absl::string_view::npos) {
    return kBad;
  }
  for (const absl::string_view segment : absl::StrSplit(path, '/')) {
    if (segment.empty() || segment == ".") continue;
    if (segment == ".." || segment.size() > NAME_MAX) return kBad;
    absl::StrAppend(&clean, clean.empty() ? "" : "/", segment);
  }
  return {};
}

Unpacker::Unpacker(const os::Fd& directory, uint64_t max_bytes,
                   uint64_t max_entries)
    : directory_(directory),
      max_bytes_(max_bytes),
      max_entries_(max_entries),
      buffer_(new char[os::kFileChunkBytes]) {}

Unpacker::~Unpacker() = default;

FileResult Unpacker::FindParent(const std::string& path, bool make,
                                std::string& name) {
  const size_t slash = path.rfind('/');
  name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  const std::string parent =
      slash == std::string::npos ? "." : path.substr(0, slash);
  if (parent_.valid() && parent == parent_path_) return {};
  parent_path_.clear();
  parent_ = os::OpenDirectoryNoLinks(directory_, parent.c_str());
  if (!parent_.valid()) {
    if (!make || errno != ENOENT) return ParentError();
    os::Fd at = os::OpenDirectoryNoLinks(directory_, ".");
    if (!at.valid()) return LastError();
    for (const std::string& segment :
         std::vector<std::string>(absl::StrSplit(parent, '/'))) {
      if (::mkdirat(at.get(), segment.c_str(), 0755) != 0 && errno != EEXIST) {
        return LastError();
      }
      os::Fd next = os::OpenDirectoryNoLinks(at, segment.c_str());
      if (!next.valid()) return ParentError();
      at = std::move(next);
    }
    parent_ = std::move(at);
  }
  parent_path_ = parent;
  return {};
}

// Removes what exists under a member's name, to make room for it.
FileResult Unpacker::ClearName(const std::string& name) {
  if (::unlinkat(parent_.get(), name.c_str(), 0) == 0 || errno == ENOENT) {
    return {};
  }
  return LastError();
}

FileResult Unpacker::MakeDirectory(const std::string& name) {
  for (int tries = 0; tries < 2; ++tries) {
    if (::mkdirat(parent_.get(), name.c_str(), 0700) == 0) return {};
    if (errno != EEXIST) return LastError();
    struct stat info = {};
    if (::fstatat(parent_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) ==
            0 &&
        S_ISDIR(info.st_mode)) {
      // The directory's mode may prevent making anything in it; it gets its own
      // mode at the end. If this fails, so will the calls that need it.
      if ((info.st_mode & 0700) != 0700) {
        (void)!::fchmodat(parent_.get(), name.c_str(), 0700, 0);
      }
      return {};
    }
    if (FileResult result = ClearName(name); !result.ok()) return result;
  }
  return {FileCode::kBusyChanged, EEXIST};
}

FileResult Unpacker::MakeFile(TarReader& reader, const TarMember& member,
                              const std::string& name) {
  if (FileResult result = ClearName(name); !result.ok()) return result;
  const os::Fd file(
      ::openat(parent_.get(), name.c_str(),
               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return LastError();
  const FileResult result = FillFile(reader, member, file);
  // A file that is only partly there is removed.
  if (!result.ok()) (void)ClearName(name);
  return result;
}

FileResult Unpacker::FillFile(TarReader& reader, const TarMember& member,
                              const os::Fd& file) {
  uint64_t done = 0;
  while (done < member.size) {
    const ssize_t got = reader.Read(buffer_.get(), os::kFileChunkBytes);
    if (got <= 0) return {FileCode::kIncomplete, 0};
    const auto size = static_cast<size_t>(got);
    if (!WriteSparse(file, {buffer_.get(), size})) return LastError();
    done += size;
    bytes_ += size;
  }
  if (::ftruncate(file.get(), static_cast<off_t>(member.size)) != 0) {
    return LastError();
  }
  const struct timespec times[] = {member.mtime, member.mtime};
  if (::fchmod(file.get(), member.mode & 0777) != 0 ||
      ::futimens(file.get(), times) != 0) {
    return LastError();
  }
  return {};
}

FileResult Unpacker::MakeHardLink(const TarMember& member,
                                  const std::string& path,
                                  const std::string& name) {
  std::string target, target_name;
  if (FileResult result = CleanMemberPath(member.link, target); !result.ok()) {
    return result;
  }
  if (target.empty()) return kBad;
  if (target == path) return {};
  os::Fd to = os::OpenDirectoryNoLinks(parent_, ".");
  if (!to.valid()) return LastError();
  if (FileResult result = FindParent(target, false, target_name);
      !result.ok()) {
    return result;
  }
  struct stat info = {};
  if (::fstatat(parent_.get(), target_name.c_str(), &info,
                AT_SYMLINK_NOFOLLOW) != 0) {
    return LastError();
  }
  if (!S_ISREG(info.st_mode)) return kBad;
  if (::unlinkat(to.get(), name.c_str(), 0) != 0 && errno != ENOENT) {
    return LastError();
  }
  if (::linkat(parent_.get(), target_name.c_str(), to.get(), name.c_str(), 0) !=
      0) {
    return LastError();
  }
  return {};
}

FileResult Unpacker::MakeSymlink(const TarMember& member,
                                 const std::string& name) {
  if (member.link.empty() || member.link.size() >= PATH_MAX ||
      member.link.find('\0') != std::string::npos) {
    return kBad;
  }
  if (FileResult result = ClearName(name); !result.ok()) return result;
  if (::symlinkat(member.link.c_str(), parent_.get(), name.c_str()) != 0) {
    return LastError();
  }
  const struct timespec times[] = {member.mtime, member.mtime};
  (void)::utimensat(parent_.get(), name.c_str(), times, AT_SYMLINK_NOFOLLOW);
  return {};
}

FileResult Unpacker::UnpackMember(TarReader& reader, const TarMember& member) {
  if (entries_ >= max_entries_ || member.size > max_bytes_ - bytes_) {
    return {FileCode::kTooLarge, 0};
  }
  std::string path, name;
  if (FileResult result = CleanMemberPath(member.path, path); !result.ok()) {
    return result;
  }
  if (path.empty()) {
    return member.type == TarType::kDirectory ? FileResult{} : kBad;
  }
  if (member.type == TarType::kOther) {
    ++left_out_;
    return {};
  }
  if (FileResult result = FindParent(path, true, name); !result.ok()) {
    return result;
  }
  FileResult result = Make(reader, member, path, name);
  if (result.ok()) ++entries_;
  return result;
}

FileResult Unpacker::Make(TarReader& reader, const TarMember& member,
                          const std::string& path, const std::string& name) {
  switch (member.type) {
    case TarType::kFile:
      return MakeFile(reader, member, name);
    case TarType::kHardLink:
      return MakeHardLink(member, path, name);
    case TarType::kSymlink:
      return MakeSymlink(member, name);
    case TarType::kDirectory: {
      FileResult result = MakeDirectory(name);
      if (result.ok()) {
        directories_.push_back({path, member.mode & 0777, member.mtime});
      }
      return result;
    }
    case TarType::kOther:
      break;
  }
  return kBad;
}

FileResult Unpacker::SettleDirectories() {
  parent_.reset();
  FileResult result;
  // Directories come before what is in them, so in reverse order each one can
  // still be reached.
  for (auto it = directories_.rbegin(); it != directories_.rend(); ++it) {
    const os::Fd found = os::OpenDirectoryNoLinks(directory_, it->path.c_str());
    // It was removed by the sandboxed code, or by a later member.
    if (!found.valid()) continue;
    const os::Fd open(
        ::openat(found.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!open.valid()) continue;
    const struct timespec times[] = {it->mtime, it->mtime};
    // It has another owner, for example. The others get their modes and times
    // nevertheless.
    if ((::futimens(open.get(), times) != 0 ||
         ::fchmod(open.get(), it->mode) != 0) &&
        result.ok()) {
      result = LastError();
    }
  }
  return result;
}

FileResult Unpacker::Run(TarReader& reader) { return RunWith(reader, false); }

FileResult Unpacker::RunAsFarAsPossible(TarReader& reader) {
  return RunWith(reader, true);
}

FileResult Unpacker::RunWith(TarReader& reader, bool as_far_as_possible) {
  while (true) {
    TarMember member;
    const TarReader::Step step = reader.Next(member);
    if (step == TarReader::Step::kEnd) return SettleDirectories();
    FileResult result = ResultOf(step);
    if (result.ok()) {
      result = UnpackMember(reader, member);
      // When the archive itself ends, there is no next member to go on with.
      if (as_far_as_possible && !result.ok() &&
          result.code != FileCode::kIncomplete) {
        ++missing_count_;
        if (missing_.size() < kMaxMissing) {
          missing_.push_back({member.path, result});
        }
        continue;
      }
    }
    if (!result.ok()) {
      (void)SettleDirectories();
      return result;
    }
  }
}

}  // namespace sandglass::sandbox
