#include "server/images/toolchain.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "sandbox/os/files.h"
#include "server/base/digest.h"
#include "server/images/image_files.h"

namespace sandglass::server {
namespace {

// The bound for a language's "reads"; more files would cost each run
// milliseconds.
constexpr size_t kMaxFiles = 2000;
constexpr int kMaxLevels = 32;

// Contains the ctime because, unlike mtime, nobody can set it back.
std::string Stamp(const struct stat& info) {
  return absl::StrCat(info.st_mode, " ", info.st_size, " ", info.st_ino, " ",
                      info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, " ",
                      info.st_ctim.tv_sec, ".", info.st_ctim.tv_nsec);
}

std::string StampOf(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 ? Stamp(info) : "absent";
}

class Walk {
 public:
  explicit Walk(size_t max) : max_(max) {}

  // Returns false when there is too much to look at. `levels` says how deep to
  // go.
  bool Visit(const std::string& path, int levels) {
    if (++seen_ > max_) return false;
    struct stat info = {};
    digest_.Add(path);
    if (::lstat(path.c_str(), &info) != 0) {
      digest_.Add("absent");
      return true;
    }
    digest_.Add(Stamp(info));
    if (S_ISLNK(info.st_mode)) {
      char target[PATH_MAX];
      const ssize_t size = ::readlink(path.c_str(), target, sizeof(target));
      digest_.Add({target, size < 0 ? 0 : static_cast<size_t>(size)});
      digest_.Add(StampOf(path));
      // What a link leads to counts as well, even if it is a directory.
      if (::stat(path.c_str(), &info) != 0) return true;
    }
    return !S_ISDIR(info.st_mode) || levels == 0 || Below(path, levels - 1);
  }

  std::string Hex() { return digest_.Hex(); }

 private:
  bool Below(const std::string& path, int levels) {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()),
                                                        ::closedir);
    // Nobody sees more of it than its stamp.
    if (directory == nullptr) return true;
    std::vector<std::string> names;
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    while (const dirent* entry = ::readdir(directory.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
      if (names.size() > max_) return false;
    }
    std::sort(names.begin(), names.end());
    return std::all_of(names.begin(), names.end(), [&](const auto& name) {
      return Visit(absl::StrCat(path, "/", name), levels);
    });
  }

  const size_t max_;
  size_t seen_ = 0;
  Digest digest_;
};

}  // namespace

std::optional<std::string> StateOf(const std::vector<std::string>& paths,
                                   size_t max) {
  Walk walk(max);
  for (const std::string& path : paths) {
    const bool deep = absl::EndsWith(path, "/**");
    const std::string start(absl::StripSuffix(path, "/**"));
    if (!walk.Visit(start, deep ? kMaxLevels : 1)) return std::nullopt;
  }
  return walk.Hex();
}

Toolchain::Toolchain(std::string image, const PackageDatabase& packages,
                     std::string root)
    : image_(std::move(image)),
      root_(std::move(root)),
      packages_{root_ + packages.status, root_ + packages.journal} {}

std::optional<std::string> Toolchain::Packages() const {
  const std::string state = StampOf(packages_.status);
  if (state == "absent") return std::nullopt;
  absl::MutexLock lock(&mutex_);
  if (state != read_state_) {
    const absl::StatusOr<std::string> content =
        os::ReadWholeFile(packages_.status);
    // It was changed while it was read; the next caller sees it whole.
    if (!content.ok() || StampOf(packages_.status) != state) {
      return std::nullopt;
    }
    digest_ = Sha256(*content);
    read_state_ = state;
  }
  return digest_;
}

std::optional<std::string> Toolchain::Identity(
    const std::vector<std::string>& executables,
    const std::vector<std::string>& reads) const {
  const std::optional<std::string> packages = Packages();
  if (!packages) return std::nullopt;
  Digest digest;
  digest.Add(image_);
  digest.Add(*packages);
  digest.Add(StampOf(packages_.journal));
  digest.AddNumber(executables.size());
  for (const std::string& path : executables) {
    const std::optional<std::string> real = RealPathInImage(root_, path);
    if (!real) return std::nullopt;
    digest.Add(path);
    digest.Add(*real);
    digest.Add(StampOf(root_ + *real));
  }
  std::vector<std::string> below;
  below.reserve(reads.size());
  for (const std::string& path : reads) below.push_back(root_ + path);
  const std::optional<std::string> state = StateOf(below, kMaxFiles);
  if (!state) return std::nullopt;
  digest.Add(*state);
  return digest.Hex();
}

}  // namespace sandglass::server
