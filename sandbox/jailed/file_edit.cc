// Replaces text in a file.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "sandbox/jailed/file_ops.h"
#include "sandbox/jailed/file_paths.h"
#include "sandbox/jailed/new_file.h"

namespace sandglass::sandbox {
namespace {

constexpr uint64_t kMostEditedBytes = uint64_t{64} * 1024 * 1024;

// The whole of a file that has at most `most` bytes.
FileResult ReadAll(const os::Fd& file, uint64_t most, std::string& text) {
  constexpr size_t kChunk = 256 * 1024;
  while (true) {
    const size_t done = text.size();
    if (done > most) return {FileCode::kTooLarge, EFBIG};
    text.resize(done + kChunk);
    ssize_t got;
    do {
      got = ::read(file.get(), text.data() + done, kChunk);
    } while (got < 0 && errno == EINTR);
    text.resize(done + static_cast<size_t>(got < 0 ? 0 : got));
    if (got < 0) return ResultOfErrno(errno);
    if (got == 0) return {};
  }
}

// How often `old_text` is there, and the text with each replaced, in which
// nothing is replaced again; no longer than `most`.
uint64_t Replace(absl::string_view text, absl::string_view old_text,
                 absl::string_view new_text, uint64_t most,
                 std::string& replaced) {
  uint64_t count = 0;
  for (size_t start = 0;;) {
    const size_t found = text.find(old_text, start);
    if (found == absl::string_view::npos) {
      replaced.append(text.data() + start, text.size() - start);
      return count;
    }
    if (replaced.size() <= most) {
      replaced.append(text.data() + start, found - start);
      replaced.append(new_text.data(), new_text.size());
    }
    start = found + old_text.size();
    ++count;
  }
}

bool SameFile(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino &&
         one.st_size == other.st_size &&
         NanosOf(one.st_mtim) == NanosOf(other.st_mtim) &&
         NanosOf(one.st_ctim) == NanosOf(other.st_ctim);
}

}  // namespace

FileResult Edit(FileTask& task, const internal::EditFile& request,
                internal::FileReply& reply) {
  if (request.old_text().empty()) return {FileCode::kBadRequest, 0};
  os::Fd file;
  struct stat before = {};
  if (FileResult result =
          OpenRegular(task.root(), request.path(), file, before);
      !result.ok()) {
    return result;
  }
  const uint64_t most =
      request.max_bytes() > 0 ? request.max_bytes() : kMostEditedBytes;
  std::string text, replaced;
  if (FileResult result = ReadAll(file, most, text); !result.ok()) {
    return result;
  }
  const uint64_t count =
      Replace(text, request.old_text(), request.new_text(), most, replaced);
  if (count == 0) return {FileCode::kNoMatch, 0};
  reply.set_count(count);
  if (count > 1 && !request.all()) return {FileCode::kMultiple, 0};
  if (replaced.size() > most) return {FileCode::kTooLarge, EFBIG};
  internal::WriteFile write;
  write.set_path(request.path());
  NewFile edited;
  FileResult result = edited.Begin(task.root(), write);
  if (result.ok()) result = edited.Write(replaced);
  if (!result.ok()) return result;
  // What was written to it meanwhile would be lost.
  struct stat now = {};
  if (::fstat(file.get(), &now) != 0) return ResultOfErrno(errno);
  if (!edited.old().has_value() || !SameFile(before, *edited.old()) ||
      !SameFile(before, now)) {
    return {FileCode::kBusyChanged, 0};
  }
  return edited.Commit();
}

}  // namespace sandglass::sandbox
