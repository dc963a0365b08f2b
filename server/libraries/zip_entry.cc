#include "server/libraries/zip_entry.h"

#include <zip.h>

#include <memory>

#include "absl/strings/str_cat.h"

namespace sandglass::server {
namespace {

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

std::string ZipErrorText(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

absl::Status Failure(int code, const std::string& message) {
  return code == ZIP_ER_NOENT ? absl::NotFoundError(message)
                              : absl::InvalidArgumentError(message);
}

}  // namespace

absl::StatusOr<std::string> ReadZipEntry(const std::string& archive,
                                         const std::string& entry) {
  int code = 0;
  const std::unique_ptr<zip_t, Discard> zip(
      zip_open(archive.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
  if (zip == nullptr) {
    return Failure(code, absl::StrCat(archive, ": ", ZipErrorText(code)));
  }
  const std::unique_ptr<zip_file_t, Discard> file(
      zip_fopen(zip.get(), entry.c_str(), 0));
  if (file == nullptr) {
    return Failure(
        zip_error_code_zip(zip_get_error(zip.get())),
        absl::StrCat(archive, ": ", entry, ": ", zip_strerror(zip.get())));
  }
  // The size that the archive states can't be trusted.
  std::string text(kMaxEntryBytes + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const zip_int64_t got =
        zip_fread(file.get(), &text[size], text.size() - size);
    if (got < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(archive, ": ", entry, ": ",
                       zip_error_strerror(zip_file_get_error(file.get()))));
    }
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  if (size > kMaxEntryBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        archive, ": ", entry, " is larger than ", kMaxEntryBytes, " bytes"));
  }
  text.resize(size);
  return text;
}

}  // namespace sandglass::server
