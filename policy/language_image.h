#ifndef SANDGLASS_POLICY_LANGUAGE_IMAGE_H_
#define SANDGLASS_POLICY_LANGUAGE_IMAGE_H_

#include "policy/image.h"
#include "policy/language.h"

namespace sandglass::policy {

// A language as an image other than the host's has it: started anew for each
// run by the image's own executables. What is prepared, preloaded or waits
// belongs to the host's image, and with it kernels and analysers; nothing that
// its compiler made is kept. A language that can't do without what is prepared
// is `unusable`.
Language InImage(Language language, const Image& image);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LANGUAGE_IMAGE_H_
