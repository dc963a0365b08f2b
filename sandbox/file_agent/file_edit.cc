// Replaces text in a file.
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "sandbox/file_agent/file_ops.h"
#include "sandbox/file_agent/file_paths.h"
#include "sandbox/file_agent/new_file.h"
#include "sandbox/os/io.h"
#include "sandbox/os/process.h"

namespace sandglass::sandbox {
namespace {

constexpr uint64_t kMaxEditedBytes = uint64_t{64} * 1024 * 1024;

// Reads a whole file, which may have at most `max` bytes.
FileResult ReadAll(const os::Fd& file, uint64_t max, std::string& text) {
  while (true) {
    const size_t done = text.size();
    if (done > max) return {FileCode::kTooLarge, EFBIG};
    text.resize(done + os::kFileChunkBytes);
    ssize_t got;
    do {
      got = ::read(file.get(), text.data() + done, os::kFileChunkBytes);
    } while (got < 0 && errno == EINTR);
    text.resize(done + static_cast<size_t>(got < 0 ? 0 : got));
    if (got < 0) return ResultOfErrno(errno);
    if (got == 0) return {};
  }
}

// Maps the two texts that a descriptor came along with. They stay mapped until
// this process ends, which works on nothing but this edit.
FileResult MapTexts(const os::Fd& file, const internal::EditFile& request,
                    absl::string_view& old_text, absl::string_view& new_text) {
  struct stat info = {};
  if (::fstat(file.get(), &info) != 0) return ResultOfErrno(errno);
  const auto size = static_cast<uint64_t>(info.st_size);
  if (request.old_size() > size ||
      request.new_size() != size - request.old_size()) {
    return {FileCode::kIncomplete, 0};
  }
  void* const bytes =
      ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (bytes == MAP_FAILED) return ResultOfErrno(errno);
  const absl::string_view both(static_cast<const char*>(bytes), size);
  old_text = both.substr(0, request.old_size());
  new_text = both.substr(request.old_size());
  return {};
}

// Counts how often `old_text` occurs, and makes a text of at most `max` bytes
// in which each occurrence is replaced; replacements aren't searched again.
uint64_t ReplaceText(absl::string_view text, absl::string_view old_text,
                     absl::string_view new_text, uint64_t max,
                     std::string& replaced) {
  uint64_t count = 0;
  for (size_t start = 0;;) {
    const size_t found = text.find(old_text, start);
    if (found == absl::string_view::npos) {
      replaced.append(text.data() + start, text.size() - start);
      return count;
    }
    if (replaced.size() <= max) {
      replaced.append(text.data() + start, found - start);
      replaced.append(new_text.data(), new_text.size());
    }
    start = found + old_text.size();
    ++count;
  }
}

// A file that was read, and what it is to become.
struct Change {
  struct stat before = {};  // as it was read
  std::string text;
  std::string replaced;
};

bool WriteAt(const os::Fd& file, absl::string_view bytes, size_t offset) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(file.get(), bytes.data(), bytes.size(),
                                 static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    offset += static_cast<size_t>(put);
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

// Whether the rest of a file is exactly `text`.
bool Holds(const os::Fd& file, absl::string_view text) {
  const std::unique_ptr<char[]> buffer(new char[os::kFileChunkBytes]);
  while (true) {
    const ssize_t got = ::read(file.get(), buffer.get(), os::kFileChunkBytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0 && text.empty();
    if (!absl::ConsumePrefix(&text, {buffer.get(), static_cast<size_t>(got)})) {
      return false;
    }
  }
}

// Whether the file that was read still has its name and its content. Its times
// don't show that: two changes within one tick of the kernel's clock have the
// same time.
bool Unchanged(const Change& change, const Place& place, const os::Fd& file) {
  struct stat now = {}, named = {};
  return ::fstat(file.get(), &now) == 0 && SameFile(change.before, now) &&
         ::fstatat(place.directory.get(), place.name.c_str(), &named,
                   AT_SYMLINK_NOFOLLOW) == 0 &&
         SameFile(named, now) && Holds(file, change.text);
}

// Writes the file's content from `offset` to its new end.
bool WriteEnd(const os::Fd& file, absl::string_view bytes, size_t offset) {
  return WriteAt(file, bytes, offset) &&
         ::ftruncate(file.get(), static_cast<off_t>(offset + bytes.size())) ==
             0;
}

// Writes while no other process has the file open or can open it.
FileResult WriteInPlace(const Change& change, const os::Fd& file) {
  const absl::string_view text = change.text, replaced = change.replaced;
  const size_t min = std::min(text.size(), replaced.size());
  const auto same = static_cast<size_t>(
      std::mismatch(text.begin(), text.begin() + min, replaced.begin()).first -
      text.begin());
  // Reserves the room first, so that the writing itself has no reason to fail.
  if (replaced.size() > same &&
      ::fallocate(file.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(same),
                  static_cast<off_t>(replaced.size() - same)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
    return ResultOfErrno(errno);
  }
  // A child does the writing, so that the file is whole whichever of the two is
  // killed: this process can write back the old content, and the child can go
  // on without its parent. Both share the lease.
  const pid_t writer = ::fork();
  if (writer < 0) return {FileCode::kBusy, errno};
  if (writer == 0) {
    // It has no other descriptors: if the child were stopped, its parent would
    // otherwise seem to live on.
    (void)os::CloseRange(0, file.get() - 1);
    (void)os::CloseFrom(file.get() + 1);
    ::_exit(WriteEnd(file, replaced.substr(same), same) ? 0 : errno);
  }
  int status = 0;
  pid_t reaped;
  do {
    reaped = ::waitpid(writer, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  const bool ended = reaped == writer && WIFEXITED(status);
  if (ended && WEXITSTATUS(status) == 0) return {};
  (void)WriteEnd(file, text.substr(same), same);
  return ended ? ResultOfErrno(WEXITSTATUS(status))
               : FileResult{FileCode::kFailed, ENOMEM};
}

// Exchanges the file that was set aside with `placed`, which we have put in its
// place. Whatever other processes have put, moved or removed there since stays
// as it is. The kernel can't compare a name and change it in one step: a file
// that came between the two steps gets its place back in the same way.
FileResult GivePlaceBack(NewFile& edited, struct stat placed) {
  constexpr FileResult kGaveWay = {FileCode::kBusyChanged, 0};
  while (true) {
    const std::optional<struct stat> named = edited.Named();
    const std::optional<struct stat> aside = edited.Aside();
    if (!named.has_value() || !aside.has_value() || !SameFile(*named, placed)) {
      return kGaveWay;
    }
    if (const FileResult result = edited.ChangePlaces(); !result.ok()) {
      return result.code == FileCode::kNotFound ? kGaveWay : result;
    }
    const std::optional<struct stat> taken = edited.Aside();
    if (!taken.has_value() || SameFile(*taken, placed)) return kGaveWay;
    placed = *aside;
  }
}

// Replaces the file by a new one. Other processes may have the old one open for
// reading, and go on with that. `leased`: `lease` is open with a lease against
// writers, for which a process may begin to wait at any time.
FileResult Replace(FileTask& task, const internal::EditFile& request,
                   const Change& change, const Place& place,
                   const os::Fd& lease, bool leased) {
  const auto awaited = [&lease, leased] {
    return leased && ::fcntl(lease.get(), F_GETLEASE) != F_RDLCK;
  };
  internal::WriteFile write;
  write.set_path(request.path());
  NewFile edited;
  FileResult result = edited.Begin(task.root(), write);
  if (result.ok()) result = edited.Write(change.replaced);
  if (!result.ok()) return result;
  if (!edited.old().has_value() || !SameFile(*edited.old(), change.before) ||
      !Unchanged(change, place, lease) || awaited()) {
    return {FileCode::kBusyChanged, 0};
  }
  // Nobody shall open the new file either before it is certain that it stays.
  (void)::fcntl(edited.fd(), F_SETLEASE, F_WRLCK);
  if (result = edited.ChangePlaces(); !result.ok()) return result;
  struct stat placed = {};
  if (::fstat(edited.fd(), &placed) != 0) return ResultOfErrno(errno);
  // A file that another call has put there in the meantime must not be lost.
  const std::optional<struct stat> aside = edited.Aside();
  if (!aside.has_value() || !SameFile(*aside, change.before)) {
    return GivePlaceBack(edited, placed);
  }
  if (!leased) return {};
  // A process that had found the old file but hadn't opened it yet now waits
  // for our lease, and would write into a file that nobody sees. So the old
  // file gets its name back, unless another file has that name by now.
  constexpr int kPauseMillis = 10;
  ::poll(nullptr, 0, kPauseMillis);
  return awaited() ? GivePlaceBack(edited, placed) : FileResult{};
}

// Gives the file its new content, unless that would lose what another process
// has written meanwhile. The kernel's lease makes the check and the writing one
// step: a process that opens the file waits until the lease is returned.
FileResult Commit(FileTask& task, const internal::EditFile& request,
                  const Change& change, const Place& place) {
  const int at = place.directory.get();
  const char* const name = place.name.c_str();
  struct stat info = {};
  os::Fd file;
  FileResult result = OpenRegularFor(O_RDWR, at, name, file, info);
  const bool executed = result.error == ETXTBSY;
  if (!result.ok() && !executed) return result;
  if (result.ok() && ::fcntl(file.get(), F_SETLEASE, F_WRLCK) == 0) {
    if (!Unchanged(change, place, file)) return {FileCode::kBusyChanged, 0};
    return WriteInPlace(change, file);
  }
  file.reset();
  if (result = OpenRegularAt(at, name, file, info); !result.ok()) return result;
  // EAGAIN: some process has the file open for writing, and may write again.
  // Other errors come from file systems and owners that can't have leases;
  // there the check is made just before the new file takes its place.
  // Read leases don't exclude one another, so this lock makes the second of two
  // edits fail.
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return {FileCode::kBusyChanged, 0};
  }
  const bool leased = ::fcntl(file.get(), F_SETLEASE, F_RDLCK) == 0;
  if (!leased && errno == EAGAIN) return {FileCode::kBusyChanged, 0};
  return Replace(task, request, change, place, file, leased);
}

}  // namespace

FileResult Edit(FileTask& task, const internal::EditFile& request,
                const os::Fd& texts, internal::FileReply& reply) {
  absl::string_view old_text = request.old_text();
  absl::string_view new_text = request.new_text();
  if (texts.valid()) {
    FileResult result = MapTexts(texts, request, old_text, new_text);
    if (!result.ok()) return result;
  }
  if (old_text.empty()) return {FileCode::kBadRequest, 0};
  Place place;
  std::optional<struct stat> old;
  if (FileResult result =
          FindTarget(task.root(), request.path(), false, place, old);
      !result.ok()) {
    return result;
  }
  const uint64_t max =
      request.max_bytes() > 0 ? request.max_bytes() : kMaxEditedBytes;
  Change change;
  {
    os::Fd file;
    FileResult result = OpenRegularAt(place.directory.get(), place.name.c_str(),
                                      file, change.before);
    if (result.ok()) result = ReadAll(file, max, change.text);
    if (!result.ok()) return result;
  }
  const uint64_t count =
      ReplaceText(change.text, old_text, new_text, max, change.replaced);
  if (count == 0) return {FileCode::kNoMatch, 0};
  reply.set_count(count);
  if (count > 1 && !request.all()) return {FileCode::kMultiple, 0};
  if (change.replaced.size() > max) return {FileCode::kTooLarge, EFBIG};
  return Commit(task, request, change, place);
}

}  // namespace sandglass::sandbox
