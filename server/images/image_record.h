#ifndef SANDGLASS_SERVER_IMAGES_IMAGE_RECORD_H_
#define SANDGLASS_SERVER_IMAGES_IMAGE_RECORD_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "policy/language/image.h"

namespace sandglass::server {

// Its file, below an image's root.
inline constexpr char kImageRecord[] = "/sandglass-image.json";

// What deploy/images/build.sh wrote down of an image.
struct ImageRecord {
  // SHA-256 over all of its files but the record, 64 hexadecimal digits. That
  // the files are still those nobody has checked.
  std::string digest;
  absl::Time built = absl::UnixEpoch();
};
using ImageRecords = std::map<std::string, ImageRecord>;  // by image

// The image's file sandglass-image.json. NOT_FOUND when it has none, as one
// that was made otherwise; FAILED_PRECONDITION with all that is wrong when it
// can't be read or is damaged.
absl::StatusOr<ImageRecord> ReadImageRecord(const policy::Image& image);

// Of those that have one. FAILED_PRECONDITION as above, at the first.
absl::StatusOr<ImageRecords> ReadImageRecords(
    const std::vector<policy::Image>& images);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_IMAGES_IMAGE_RECORD_H_
