#include "policy/language_image.h"

#include "absl/strings/str_cat.h"

namespace sandglass::policy {
namespace {

// In place of the prepared directory, for commands that only would be faster
// with it.
constexpr char kNoDirectory[] = "/nonexistent";

}  // namespace

Language InImage(Language language, const Image& image) {
  language.image = image.name;
  language.image_root = image.root;
  if (language.prepare && !language.prepare->optional) {
    language.unusable = absl::StrCat(
        language.name, " can't be used in the image \"", image.name,
        "\": it needs what is prepared for it, which only the host's image "
        "has");
  }
  language.prepared_dir = kNoDirectory;
  language.prepare.reset();
  language.zygote.reset();
  language.prestart.reset();
  language.kernel.reset();
  language.analyser.reset();
  if (language.compile) {
    language.compile->prestart.reset();
    language.compile->cache.reset();
  }
  return language;
}

}  // namespace sandglass::policy
