#ifndef SANDGLASS_SERVER_IMAGES_IMAGE_RECORD_H_
#define SANDGLASS_SERVER_IMAGES_IMAGE_RECORD_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "policy/language/image.h"

namespace sandglass::server {

// The path of the record's file, below an image's root.
inline constexpr char kImageRecord[] = "/sandglass-image.json";

// What deploy/images/build.sh wrote down about an image.
struct ImageRecord {
  // SHA-256 over all of the image's files except the record, 64 hexadecimal
  // digits. Nothing has checked that the files are still the same.
  std::string digest;
  absl::Time built = absl::UnixEpoch();
};
using ImageRecords = std::map<std::string, ImageRecord>;  // by the image's name

// Reads the images' files sandglass-image.json. An image that was made in
// another way has none. FAILED_PRECONDITION, with everything that is wrong, for
// the first image whose record can't be read or is damaged.
absl::StatusOr<ImageRecords> ReadImageRecords(
    const std::vector<policy::Image>& images);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_IMAGES_IMAGE_RECORD_H_
