#include "server/images/image_files.h"

#include <cstdlib>
#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "sandbox/os/open_beneath.h"
#include "sandbox/yard/image_etc.h"
#include "server/images/image_record.h"
#include "server/images/toolchain.h"

namespace sandglass::server {

std::optional<std::string> RealPathInImage(const std::string& root,
                                           const std::string& path) {
  if (!root.empty()) {
    // In jails, /bin and /sbin are links into /usr.
    const bool merged =
        absl::StartsWith(path, "/bin/") || absl::StartsWith(path, "/sbin/");
    return os::RealPathInRoot(root, absl::StrCat(merged ? "/usr" : "", path));
  }
  const std::unique_ptr<char, void (*)(void*)> real(
      ::realpath(path.c_str(), nullptr), std::free);
  if (real == nullptr) return std::nullopt;
  return std::string(real.get());
}

namespace {

std::string ImageState(const std::string& root,
                       const std::vector<std::string>& host_etc) {
  std::vector<std::string> sources;
  for (const std::string& path : sandbox::ImageSources(root, host_etc)) {
    sources.push_back(absl::StrCat(path, "/**"));
  }
  if (!root.empty()) sources.push_back(root + kImageRecord);
  constexpr size_t kMaxFiles = 100'000;
  return StateOf(sources, kMaxFiles).value_or("");
}

}  // namespace

ImageStates AllImageStates(const std::vector<policy::Image>& images,
                           const std::vector<std::string>& host_etc) {
  ImageStates states = {{"", ImageState("", host_etc)}};
  for (const policy::Image& image : images) {
    states[image.name] = ImageState(image.root, {});
  }
  return states;
}

}  // namespace sandglass::server
