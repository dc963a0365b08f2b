#include "server/images/image_record.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "policy/text/json_reader.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

constexpr uint64_t kFormat = 1;
constexpr size_t kDigestDigits = 64;

absl::StatusOr<ImageRecord> Parse(const std::string& path) {
  absl::StatusOr<policy::JsonDocument> document =
      policy::JsonDocument::ReadFile(path);
  if (!document.ok()) return document.status();
  policy::JsonObject root = document->root();
  ImageRecord record;
  // If the format is another one, nothing is known about it, not even what its
  // keys mean.
  const uint64_t format = root.Unsigned("format");
  if (root.Has("format") && format != kFormat) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": /format: this daemon knows ", kFormat));
  }
  record.digest = root.String("digest");
  if (root.IsString("digest") &&
      (record.digest.size() != kDigestDigits || !IsLowerHex(record.digest))) {
    root.AddError("digest", absl::StrCat(Quoted(record.digest, 100),
                                         " is no SHA-256: expected 64 "
                                         "hexadecimal digits, in small "
                                         "letters"));
  }
  const std::string built = root.String("built");
  std::string why;
  if (root.IsString("built") &&
      !absl::ParseTime(absl::RFC3339_full, built, &record.built, &why)) {
    root.AddError("built",
                  absl::StrCat(Quoted(built, 100), " is no time: ", why));
  }
  // These keys are for people only.
  root.String("suite");
  root.String("architecture");
  root.Strings("languages");
  root.StringMap("packages");
  if (absl::Status status = document->Finish(); !status.ok()) return status;
  return record;
}

}  // namespace

absl::StatusOr<ImageRecords> ReadImageRecords(
    const std::vector<policy::Image>& images) {
  ImageRecords records;
  for (const policy::Image& image : images) {
    const std::string path = image.root + kImageRecord;
    std::error_code error;
    const auto kind = std::filesystem::symlink_status(path, error).type();
    if (kind == std::filesystem::file_type::not_found) continue;
    absl::StatusOr<ImageRecord> record =
        kind == std::filesystem::file_type::symlink
            ? absl::InvalidArgumentError(absl::StrCat(path, " is a link"))
            : Parse(path);
    if (!record.ok()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "image \"", image.name, "\": its record is damaged: ",
          record.status().message(), "; build the image anew, or remove ", path,
          " to use it without a digest"));
    }
    records[image.name] = *std::move(record);
  }
  return records;
}

}  // namespace sandglass::server
