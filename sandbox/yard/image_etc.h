#ifndef SANDGLASS_SANDBOX_YARD_IMAGE_ETC_H_
#define SANDGLASS_SANDBOX_YARD_IMAGE_ETC_H_

#include <string>
#include <vector>

namespace sandglass::sandbox {

// What is copied from an image's /etc into jails' roots, as sorted paths that
// exist now, each with everything in it. `root` is the directory of the image,
// "" for the host's. Of the host's these are a few parts that runtimes read,
// and those in `host_etc`, by their names below /etc; of another image it is
// all. Neither has what not everybody may read, what is no file, directory or
// link, what the jail has of its own (passwd, hosts…), and what holds secrets
// or an identity by its name (shadow, ssh, machine-id…).
std::vector<std::string> ImageSources(
    const std::string& root = "",
    const std::vector<std::string>& host_etc = {});

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_YARD_IMAGE_ETC_H_
