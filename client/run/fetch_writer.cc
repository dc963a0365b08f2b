#include "client/run/fetch_writer.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/base/terminal_filter.h"

namespace sandglass::client {
namespace {

constexpr size_t kMaxPathBytes = 4095;

absl::string_view ErrorWords(v1::FileError error) {
  switch (error) {
    case v1::FILE_ERROR_NOT_FOUND:
      return "the program left no such file";
    case v1::FILE_ERROR_PERMISSION_DENIED:
      return "the program's own rights do not let it be read";
    case v1::FILE_ERROR_IS_DIRECTORY:
      return "it is a directory; fetch what is in it with '/**'";
    case v1::FILE_ERROR_NOT_REGULAR:
      return "it is not a regular file";
    case v1::FILE_ERROR_TOO_LARGE:
      return "it is too large for the answer";
    case v1::FILE_ERROR_UNAVAILABLE:
      return "the jail was gone before it could be read";
    default:
      return "the daemon could not read it";
  }
}

absl::Status PlaceFile(int directory, const std::string& name,
                       const v1::OutputFile& file, ExistingFile existing) {
  absl::StatusOr<NewFile> place = NewFile::Create(directory, name, existing);
  if (absl::IsAlreadyExists(place.status())) {
    return absl::AlreadyExistsError(
        absl::StrCat(place.status().message(),
                     "; to replace it name its directory with --fetch-dir"));
  }
  if (!place.ok()) return place.status();
  absl::Status written = place->Write(file.content());
  if (!written.ok()) return written;
  return place->Place(file.mode() == 0 ? 0644 : file.mode());
}

}  // namespace

absl::Status CheckFetchPath(absl::string_view path) {
  const auto refuse = [](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("unsafe path: ", why));
  };
  if (path.empty()) return refuse("it is empty");
  if (path.size() > kMaxPathBytes) return refuse("it is too long");
  if (path.front() == '/') return refuse("it is absolute");
  if (!IsPlainText(path)) {
    return refuse("it has a control character or is not UTF-8");
  }
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.empty()) return refuse("it has an empty component");
    if (part == "." || part == "..") return refuse("it has '.' or '..'");
  }
  return absl::OkStatus();
}

absl::StatusOr<FetchWriter> FetchWriter::Open(const std::string& directory,
                                              ExistingFile existing) {
  if (mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot make the --fetch-dir '", directory, "'"));
  }
  // The user chose this directory, so links in its path are followed.
  UniqueFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot open the --fetch-dir '", directory, "'"));
  }
  return FetchWriter(std::move(fd), existing);
}

absl::Status FetchWriter::Write(const v1::OutputFile& file) const {
  if (file.error() != v1::FILE_ERROR_UNSPECIFIED) {
    return absl::FailedPreconditionError(ErrorWords(file.error()));
  }
  absl::Status checked = CheckFetchPath(file.path());
  if (!checked.ok()) return checked;
  std::vector<std::string> parts = absl::StrSplit(file.path(), '/');
  const std::string name = parts.back();
  parts.pop_back();
  UniqueFd held;
  int directory = directory_.get();
  for (const std::string& part : parts) {
    absl::StatusOr<UniqueFd> next = EnterDirectory(directory, part);
    if (!next.ok()) return next.status();
    held = *std::move(next);
    directory = held.get();
  }
  return PlaceFile(directory, name, file, existing_);
}

}  // namespace sandglass::client
