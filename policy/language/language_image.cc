#include "policy/language/language_image.h"

namespace sandglass::policy {

Language InImage(Language language, const Image& image) {
  language.image = image.name;
  language.image_root = image.root;
  return language;
}

}  // namespace sandglass::policy
