#include "sandbox/files/file_replies.h"

#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sandbox/os/files.h"

namespace sandglass::sandbox {
namespace {

using Fds = std::vector<os::Fd>;

// True for a file that can be read without ever waiting for whoever made it.
bool IsPlainFile(const os::Fd& fd) {
  struct stat info = {};
  const int flags = ::fcntl(fd.get(), F_GETFL);
  return flags >= 0 && (flags & (O_ACCMODE | O_PATH)) == O_RDONLY &&
         ::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode) &&
         !os::IsKernelFileSystem(fd.get());
}

// Other kinds of sockets have their own ways to wait, and to pass descriptors.
bool IsTcpSocket(const os::Fd& fd) {
  const auto option = [&fd](int name) {
    int value = -1;
    socklen_t size = sizeof(value);
    return ::getsockopt(fd.get(), SOL_SOCKET, name, &value, &size) == 0 ? value
                                                                        : -1;
  };
  const int domain = option(SO_DOMAIN);
  return (domain == AF_INET || domain == AF_INET6) &&
         option(SO_TYPE) == SOCK_STREAM && option(SO_PROTOCOL) == IPPROTO_TCP;
}

bool IsInfo(const internal::FileInfo& info) {
  return internal::FileType_IsValid(info.type()) && info.mode() <= 07777 &&
         info.mtime_part_ns() < 1'000'000'000 &&
         info.link_target().size() <= PATH_MAX;
}

bool IsName(absl::string_view name) {
  return !name.empty() && name.size() <= NAME_MAX && name != "." &&
         name != ".." && name.find('/') == absl::string_view::npos &&
         name.find('\0') == absl::string_view::npos;
}

// True for a path below a tree, which can be deeper than any path of the
// kernel.
bool IsPath(absl::string_view path, bool absolute) {
  return !path.empty() && (path[0] == '/') == absolute &&
         path.find('\0') == absl::string_view::npos;
}

bool HasNoFileLists(const internal::FileReply& reply) {
  return reply.entries_size() == 0 && reply.lines_size() == 0 &&
         reply.changes_size() == 0 && !reply.scan_done();
}

bool HasNoLists(const internal::FileReply& reply) {
  return HasNoFileLists(reply) && reply.missing_size() == 0;
}

}  // namespace

FileFacts FactsOf(internal::FileInfo& info) {
  FileFacts facts;
  facts.name = std::move(*info.mutable_name());
  facts.type = info.type() == internal::FILE_TYPE_REGULAR ? FileType::kRegular
               : info.type() == internal::FILE_TYPE_DIRECTORY
                   ? FileType::kDirectory
               : info.type() == internal::FILE_TYPE_SYMLINK ? FileType::kSymlink
                                                            : FileType::kOther;
  facts.size = info.size();
  facts.mode = info.mode();
  facts.mtime = absl::TimeFromTimespec(
      {.tv_sec = info.mtime_s(),
       .tv_nsec = static_cast<int64_t>(info.mtime_part_ns())});
  facts.link_target = std::move(*info.mutable_link_target());
  facts.inode = info.inode();
  return facts;
}

FileAgentChannel::Check OnlyLast() {
  return [](const internal::FileReply& reply, const Fds& fds) {
    return reply.last() && fds.empty() && HasNoLists(reply) &&
           IsInfo(reply.info());
  };
}

FileAgentChannel::Check OnlyMissing() {
  return [](const internal::FileReply& reply, const Fds& fds) {
    const auto told = static_cast<size_t>(reply.missing_size());
    if (told > kMaxMissing || told > reply.missing_count()) return false;
    for (const internal::MissingMember& member : reply.missing()) {
      if (member.code() <= 0 || member.code() >= kFileCodeCount) return false;
    }
    return reply.last() && fds.empty() && HasNoFileLists(reply) &&
           IsInfo(reply.info());
  };
}

FileAgentChannel::Check OneFile() {
  return [](const internal::FileReply& reply, const Fds& fds) {
    if (!reply.last() || !HasNoLists(reply) || !IsInfo(reply.info())) {
      return false;
    }
    return reply.code() != 0 ? fds.empty()
                             : fds.size() == 1 && IsPlainFile(fds[0]);
  };
}

FileAgentChannel::Check OneSocket() {
  return [](const internal::FileReply& reply, const Fds& fds) {
    if (!reply.last() || !HasNoLists(reply) || !IsInfo(reply.info())) {
      return false;
    }
    return reply.code() != 0 ? fds.empty()
                             : fds.size() == 1 && IsTcpSocket(fds[0]);
  };
}

FileAgentChannel::Check Entries(uint64_t max, EntryNames names) {
  return [left = max, names](const internal::FileReply& reply,
                             const Fds& fds) mutable {
    const auto count = static_cast<uint64_t>(reply.entries_size());
    if (!fds.empty() || reply.lines_size() != 0 || reply.changes_size() != 0 ||
        reply.scan_done() || count > left || (count == 0 && !reply.last())) {
      return false;
    }
    left -= count;
    for (const internal::FileInfo& entry : reply.entries()) {
      if (!IsInfo(entry) ||
          !(names == EntryNames::kNames ? IsName(entry.name())
                                        : IsPath(entry.name(), true))) {
        return false;
      }
    }
    return true;
  };
}

FileAgentChannel::Check Lines(uint64_t max) {
  return
      [left = max](const internal::FileReply& reply, const Fds& fds) mutable {
        const auto count = static_cast<uint64_t>(reply.lines_size());
        if (!fds.empty() || reply.entries_size() != 0 ||
            reply.changes_size() != 0 || reply.scan_done() || count > left ||
            (count == 0 && !reply.last())) {
          return false;
        }
        left -= count;
        for (const internal::GrepLine& line : reply.lines()) {
          if (!IsPath(line.path(), true) || line.line() == 0) return false;
        }
        return true;
      };
}

FileAgentChannel::Check Changes(uint64_t max, bool with_files) {
  return [max, left = max, with_files](const internal::FileReply& reply,
                                       const Fds& fds) mutable {
    const auto count = static_cast<uint64_t>(reply.changes_size());
    if (reply.entries_size() != 0 || reply.lines_size() != 0 || count > left ||
        (count == 0 && !reply.last() && !reply.scan_done())) {
      return false;
    }
    left = reply.scan_done() ? max : left - count;
    size_t opened = 0;
    for (const internal::FileChange& change : reply.changes()) {
      if (!internal::ChangeKind_IsValid(change.kind()) ||
          !IsInfo(change.info()) || !IsPath(change.info().name(), false)) {
        return false;
      }
      if (!change.opened()) continue;
      if (!with_files || opened >= fds.size() || !IsPlainFile(fds[opened])) {
        return false;
      }
      ++opened;
    }
    return opened == fds.size();
  };
}

}  // namespace sandglass::sandbox
