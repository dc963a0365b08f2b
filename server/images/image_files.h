#ifndef SANDGLASS_SERVER_IMAGES_IMAGE_FILES_H_
#define SANDGLASS_SERVER_IMAGES_IMAGE_FILES_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/language/image.h"

namespace sandglass::server {

// Looks up an absolute path in an image. Returns a path in the image with all
// links followed; links never lead out of the image. `root` is the directory
// where the host has the image, "" for the host's own files. Absent when
// nothing is there.
std::optional<std::string> RealPathInImage(const std::string& root,
                                           const std::string& path);

// For each image, by its name, "" for the host's own files: a text that changes
// whenever the parts of the image that jails get besides its /usr change, or
// its record, if it has one. Ask for it before the image is made: a change that
// comes in between then makes it look like a new image, instead of being
// overlooked. `host_etc` is that of sandbox::ImageSources. Empty when the state
// can't be told.
using ImageStates = std::map<std::string, std::string>;
ImageStates AllImageStates(const std::vector<policy::Image>& images,
                           const std::vector<std::string>& host_etc);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_IMAGES_IMAGE_FILES_H_
