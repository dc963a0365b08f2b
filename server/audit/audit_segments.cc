#include "server/audit/audit_segments.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "policy/audit/audit_verify.h"
#include "server/base/durable_log.h"

namespace sandglass::server {
namespace {

// Has room for a last line, what a crash left of the next one, and at least one
// line before them.
constexpr uint64_t kTailBytes = 3 * policy::kMaxAuditLineBytes;

struct OpenFile {
  os::Fd fd;
  uint64_t bytes = 0;
  std::string tail;  // its last bytes, from the beginning of a line
};

absl::StatusOr<OpenFile> OpenAuditFile(const os::Fd& directory, uint64_t seq) {
  const std::string name = policy::AuditFileName(seq);
  OpenFile file;
  file.fd.reset(
      ::openat(directory.get(), name.c_str(),
               O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info = {};
  if (!file.fd.valid() || ::fstat(file.fd.get(), &info) != 0) {
    return DiskError(absl::StrCat("open ", name));
  }
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid()) {
    return absl::FailedPreconditionError(absl::StrCat(
        name, " is no regular file of uid ", ::geteuid(), ", this daemon's"));
  }
  file.bytes = static_cast<uint64_t>(info.st_size);
  const uint64_t from = file.bytes - std::min(file.bytes, kTailBytes);
  file.tail.resize(file.bytes - from);
  for (size_t done = 0; done < file.tail.size();) {
    const ssize_t got =
        ::pread(file.fd.get(), file.tail.data() + done, file.tail.size() - done,
                static_cast<off_t>(from + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return DiskError("read the audit log");
    done += static_cast<size_t>(got);
  }
  if (from > 0) {
    const size_t newline = file.tail.find('\n');
    file.tail.erase(0, newline == std::string::npos ? newline : newline + 1);
  }
  return file;
}

// The last line that has the form of a line, and where it ends.
struct LastLine {
  policy::AuditHead head;
  bool intact = false;
  size_t end = 0;  // after its newline, if it has one
};

std::optional<LastLine> FindLastLine(const std::string& text) {
  size_t end = text.size();
  while (end > 0) {
    const size_t stop = text[end - 1] == '\n' ? end - 1 : end;
    const size_t before =
        stop == 0 ? std::string::npos : text.rfind('\n', stop - 1);
    const size_t begin = before == std::string::npos ? 0 : before + 1;
    const absl::string_view line(text.data() + begin, stop - begin);
    if (const auto parts = policy::ReadAuditLine(line)) {
      return LastLine{{parts->seq, std::string(parts->hash)},
                      policy::HashOfAuditLine(line) == parts->hash,
                      end};
    }
    end = begin;
  }
  return std::nullopt;
}

absl::Status Damaged(uint64_t file_seq, absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat(policy::AuditFileName(file_seq), ": ", what));
}

// Runs the verifier over whole lines and returns what it finds.
absl::Status CheckLines(uint64_t file_seq, absl::string_view lines,
                        bool from_beginning) {
  policy::AuditVerifier verifier;
  const std::string name = policy::AuditFileName(file_seq);
  verifier.BeginFile(from_beginning ? name : "the end of " + name);
  verifier.Add(lines);
  verifier.EndFile();
  const policy::AuditReport report = verifier.Finish();
  for (const policy::AuditFinding& finding : report.findings) {
    if (finding.kind != policy::AuditFinding::Kind::kTampering) continue;
    return Damaged(file_seq,
                   absl::StrCat(from_beginning ? "line " : "of its last, line ",
                                finding.line, ": ", finding.what));
  }
  return absl::OkStatus();
}

// The head of the last line of a file that another file follows.
absl::StatusOr<policy::AuditHead> HeadOf(const os::Fd& directory,
                                         uint64_t file_seq) {
  const absl::StatusOr<OpenFile> file = OpenAuditFile(directory, file_seq);
  if (!file.ok()) return file.status();
  const std::optional<LastLine> last = FindLastLine(file->tail);
  if (!last || !last->intact || last->end != file->tail.size()) {
    return Damaged(file_seq, "its last line is not as it was written");
  }
  return last->head;
}

}  // namespace

absl::StatusOr<std::vector<uint64_t>> ListAuditFiles(const os::Fd& directory) {
  const int copy =
      ::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(
      copy < 0 ? nullptr : ::fdopendir(copy), ::closedir);
  if (stream == nullptr) return DiskError("list the audit log's directory");
  std::vector<uint64_t> files;
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const dirent* entry = ::readdir(stream.get())) {
    if (const auto seq = policy::ParseAuditFileName(entry->d_name)) {
      files.push_back(*seq);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<os::Fd> MakeAuditFile(const os::Fd& directory, uint64_t seq) {
  const std::string name = policy::AuditFileName(seq);
  os::Fd file(::openat(
      directory.get(), name.c_str(),
      O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0640));
  if (!file.valid()) return DiskError(absl::StrCat("make ", name));
  return file;
}

absl::StatusOr<AuditTail> OpenAuditTail(const os::Fd& directory) {
  const absl::StatusOr<std::vector<uint64_t>> files = ListAuditFiles(directory);
  if (!files.ok()) return files.status();
  AuditTail tail;
  if (files->empty()) return tail;
  tail.file_seq = files->back();
  absl::StatusOr<OpenFile> file = OpenAuditFile(directory, tail.file_seq);
  if (!file.ok()) return file.status();
  const std::string& text = file->tail;
  size_t whole = 0;
  if (const std::optional<LastLine> last = FindLastLine(text)) {
    if (!last->intact) {
      return Damaged(tail.file_seq,
                     absl::StrCat("line ", last->head.seq,
                                  " of the log, its last, was altered"));
    }
    absl::Status sound =
        CheckLines(tail.file_seq, absl::string_view(text).substr(0, last->end),
                   text.size() == file->bytes);
    if (!sound.ok()) return sound;
    tail.head = last->head;
    whole = last->end;
  } else if (file->bytes > text.size() ||
             text.size() > policy::kMaxAuditLineBytes) {
    return Damaged(tail.file_seq, "it does not end with a line of a log");
  } else {
    // A crash came when the newest file had just been begun.
    if (files->size() > 1) {
      absl::StatusOr<policy::AuditHead> before =
          HeadOf(directory, (*files)[files->size() - 2]);
      if (!before.ok()) return before.status();
      tail.head = *std::move(before);
    }
    if (tail.head.seq + 1 != tail.file_seq) {
      return Damaged(tail.file_seq,
                     absl::StrCat("it has no line, and the log before it ends "
                                  "with line ",
                                  tail.head.seq));
    }
  }
  tail.torn = text.substr(whole);
  tail.ends_line = text.empty() || text.back() == '\n';
  if (!tail.torn.empty() && tail.ends_line) tail.torn.pop_back();
  tail.bytes = file->bytes;
  tail.file = std::move(file->fd);
  return tail;
}

}  // namespace sandglass::server
