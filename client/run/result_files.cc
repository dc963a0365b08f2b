#include "client/run/result_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/base/file_io.h"
#include "client/base/terminal_filter.h"

namespace sandglass::client {
namespace {

constexpr char kDefaultDirectory[] = "sandglass-results";
constexpr uint32_t kMaxFiles = 1000;
// Other processes may save into the same directory at the same time.
constexpr int kMaxTries = 100;
constexpr uint32_t kMaxRun = 1000 * 1000 * 1000;

enum class Links { kFollow, kRefuse };

absl::StatusOr<UniqueFd> OpenDirectory(const std::string& path, Links links) {
  const std::string name = VisibleText(path);
  if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot make the directory '", name, "'"));
  }
  UniqueFd fd(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC |
                             (links == Links::kRefuse ? O_NOFOLLOW : 0)));
  if (!fd.valid()) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot open the directory '", name, "'"));
  }
  return fd;
}

// The n in "run-<n>-…"; 0 for any other name.
uint32_t RunOf(absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '-');
  uint32_t run = 0;
  if (parts.size() != 3 || parts[0] != "run" ||
      !absl::SimpleAtoi(parts[1], &run) || run > kMaxRun) {
    return 0;
  }
  return run;
}

absl::StatusOr<uint32_t> HighestRun(int directory) {
  // A new open file, because reading a directory moves its position.
  UniqueFd copy(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(
      copy.valid() ? fdopendir(copy.get()) : nullptr, &closedir);
  if (entries == nullptr) {
    return absl::ErrnoToStatus(errno, "cannot list the directory");
  }
  copy.Release();
  uint32_t highest = 0;
  // Only we use this stream.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const dirent* entry = readdir(entries.get())) {
    highest = std::max(highest, RunOf(entry->d_name));
  }
  return highest;
}

}  // namespace

std::string ExtensionOf(absl::string_view mime_type) {
  // Without parameters such as "; charset=utf-8".
  const std::string type = absl::AsciiStrToLower(
      absl::StripAsciiWhitespace(mime_type.substr(0, mime_type.find(';'))));
  static constexpr std::array<std::array<absl::string_view, 2>, 14> kKnown = {
      {{"image/png", ".png"},
       {"image/jpeg", ".jpg"},
       {"image/gif", ".gif"},
       {"image/webp", ".webp"},
       {"image/svg+xml", ".svg"},
       {"application/pdf", ".pdf"},
       {"application/json", ".json"},
       {"application/javascript", ".js"},
       {"text/javascript", ".js"},
       {"text/html", ".html"},
       {"text/csv", ".csv"},
       {"audio/wav", ".wav"},
       {"audio/mpeg", ".mp3"},
       {"video/mp4", ".mp4"}}};
  for (const auto& [name, extension] : kKnown) {
    if (name == type) return std::string(extension);
  }
  if (absl::EndsWith(type, "+json")) return ".json";
  if (absl::EndsWith(type, "+xml")) return ".xml";
  return absl::StartsWith(type, "text/") ? ".txt" : ".bin";
}

absl::StatusOr<ResultFiles> ResultFiles::Open(
    const std::optional<std::string>& directory) {
  ResultFiles files(directory.value_or(""));
  if (!directory) return files;
  // The user chose this directory, so links in its path are followed.
  absl::StatusOr<UniqueFd> fd = OpenDirectory(*directory, Links::kFollow);
  if (!fd.ok()) return fd.status();
  files.fd_ = *std::move(fd);
  return files;
}

absl::StatusOr<UniqueFd> ResultFiles::Create(const std::string& extension,
                                             std::string& name) {
  for (int i = 0; i < kMaxTries; ++i) {
    name = absl::StrCat("run-", run_, "-", saved_ + 1, extension);
    UniqueFd file(openat(fd_.get(), name.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         0666));
    if (file.valid()) return file;
    if (errno != EEXIST) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", name));
    }
    ++run_;
  }
  return absl::AbortedError(
      absl::StrCat("cannot make ", name, ": others took all names"));
}

absl::StatusOr<std::string> ResultFiles::Save(absl::string_view mime_type,
                                              absl::string_view content) {
  if (saved_ >= kMaxFiles) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "this run has ", kMaxFiles, " saved results; no more are saved"));
  }
  if (!fd_.valid()) {
    directory_ = kDefaultDirectory;
    // If others can write to the directory too, one of them may have made it.
    absl::StatusOr<UniqueFd> fd = OpenDirectory(directory_, Links::kRefuse);
    if (!fd.ok()) return fd.status();
    fd_ = *std::move(fd);
  }
  if (run_ == 0) {
    absl::StatusOr<uint32_t> highest = HighestRun(fd_.get());
    if (!highest.ok()) return highest.status();
    run_ = *highest + 1;
  }
  std::string name;
  absl::StatusOr<UniqueFd> file = Create(ExtensionOf(mime_type), name);
  if (!file.ok()) return file.status();
  const int error = WriteAll(file->get(), content);
  if (error != 0) {
    unlinkat(fd_.get(), name.c_str(), 0);
    return absl::ErrnoToStatus(error, absl::StrCat("cannot write ", name));
  }
  ++saved_;
  return absl::StrCat(directory_, absl::EndsWith(directory_, "/") ? "" : "/",
                      name);
}

}  // namespace sandglass::client
