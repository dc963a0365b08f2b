#include "server/daemon/reload_record.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sandbox/os/files.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

// The numbers are at the file's beginning, the error behind them. The error is
// written first, so that who sees a new number finds the error that belongs to
// it.
constexpr size_t kNumbersBytes = 64;
constexpr size_t kErrorBytes = 4032;

std::string RecordPath(const std::string& state_dir) {
  return absl::StrCat(state_dir, "/reload");
}

// A lock belongs to an open file, which the process's children share until they
// execute another program or end.
bool SomebodyHas(const os::Fd& file) {
  return ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

absl::Status RecordError(const char* what, const std::string& path) {
  return absl::InternalError(absl::StrCat(
      "can't ", what, " ", Quoted(path, 256), ": ", ErrorText(errno)));
}

}  // namespace

absl::StatusOr<ReloadRecord> ReloadRecord::Make(const std::string& state_dir) {
  const std::string path = RecordPath(state_dir);
  ReloadRecord record;
  record.file_.reset(::open(
      path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!record.file_.valid()) return RecordError("open", path);
  // Whoever reads it has it locked for a moment.
  if (::flock(record.file_.get(), LOCK_EX) != 0) {
    return RecordError("lock", path);
  }
  if (::ftruncate(record.file_.get(), kNumbersBytes + kErrorBytes) != 0) {
    return RecordError("write", path);
  }
  record.state_.pid = ::getpid();
  record.WriteNumbers();
  return record;
}

absl::StatusOr<ReloadRecord::State> ReloadRecord::Read(
    const std::string& state_dir) {
  const std::string path = RecordPath(state_dir);
  const absl::Status none = absl::UnavailableError(
      absl::StrCat("no daemon has written ", Quoted(path, 256)));
  const os::Fd file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid() && errno != ENOENT) return RecordError("open", path);
  if (!file.valid() || !SomebodyHas(file)) return none;
  const absl::StatusOr<std::string> text = os::ReadWholeFile(path);
  if (!text.ok()) return text.status();
  State state;
  const std::string head = text->substr(0, kNumbersBytes);
  const std::vector<std::string> words =
      absl::StrSplit(head.substr(0, head.find('\0')), ' ', absl::SkipEmpty());
  if (words.size() != 3 || !absl::SimpleAtoi(words[0], &state.pid) ||
      !absl::SimpleAtoi(words[1], &state.begun) ||
      !absl::SimpleAtoi(words[2], &state.ended) || state.pid <= 0) {
    return none;
  }
  if (text->size() > kNumbersBytes) state.error = text->substr(kNumbersBytes);
  state.error.resize(std::min(state.error.find('\0'), state.error.size()));
  return state;
}

void ReloadRecord::Begin() {
  ++state_.begun;
  WriteNumbers();
}

void ReloadRecord::End(const absl::Status& result) {
  std::string error(result.message().substr(0, kErrorBytes - 1));
  error.resize(kErrorBytes);
  (void)!::pwrite(file_.get(), error.data(), error.size(), kNumbersBytes);
  state_.ended = state_.begun;
  WriteNumbers();
}

void ReloadRecord::WriteNumbers() const {
  std::string numbers =
      absl::StrCat(state_.pid, " ", state_.begun, " ", state_.ended);
  numbers.resize(kNumbersBytes);
  (void)!::pwrite(file_.get(), numbers.data(), numbers.size(), 0);
}

}  // namespace sandglass::server
