#ifndef SANDGLASS_SERVER_IMAGES_IMAGE_FILES_H_
#define SANDGLASS_SERVER_IMAGES_IMAGE_FILES_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/language/image.h"

namespace sandglass::server {

// What an image has at an absolute path, as a path in it with all links
// followed; they never lead out of it. `root` is where the host has the image,
// "" for its own. Absent when there is nothing.
std::optional<std::string> RealPathInImage(const std::string& root,
                                           const std::string& path);

// A text that changes with what jails get of an image beside its /usr, and of
// one that has a record, with that. Before the image is made: a change that
// comes in between is then taken for a new image, not overlooked. Empty when it
// can't be told.
std::string ImageState(const std::string& root);

// By image's name, "" for the host's.
using ImageStates = std::map<std::string, std::string>;
ImageStates AllImageStates(const std::vector<policy::Image>& images);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_IMAGES_IMAGE_FILES_H_
