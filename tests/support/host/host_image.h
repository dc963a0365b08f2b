#ifndef SANDGLASS_TESTS_SUPPORT_HOST_HOST_IMAGE_H_
#define SANDGLASS_TESTS_SUPPORT_HOST_HOST_IMAGE_H_

#include <string>
#include <vector>

namespace sandglass::testing {

// An image with all that the host has: its directories, bound below another
// one, in a mount namespace of the calling thread and what it starts. Needs
// root. Unbound again at its end.
class HostImage {
 public:
  explicit HostImage(const std::string& directory);
  ~HostImage();
  HostImage(const HostImage&) = delete;
  HostImage& operator=(const HostImage&) = delete;

  // Why it isn't there, read-only; empty: it is.
  const std::string& problem() const { return problem_; }

 private:
  std::vector<std::string> mounts_;
  std::string problem_;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_HOST_HOST_IMAGE_H_
