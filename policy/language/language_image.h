#ifndef SANDGLASS_POLICY_LANGUAGE_LANGUAGE_IMAGE_H_
#define SANDGLASS_POLICY_LANGUAGE_LANGUAGE_IMAGE_H_

#include "policy/language/image.h"
#include "policy/language/language.h"

namespace sandglass::policy {

// A language as it is in an image other than the host's: with the image's own
// executables, and with what is prepared for that image.
Language InImage(Language language, const Image& image);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LANGUAGE_LANGUAGE_IMAGE_H_
