#include "sandbox/yard/image_etc.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"

namespace sandglass::sandbox {
namespace {

namespace fs = std::filesystem;

// Parts of the host's /etc that runtimes read; those that don't exist are
// skipped.
constexpr const char* kHostEtc[] = {
    "alternatives", "ld.so.cache",     "ld.so.conf",
    "ld.so.conf.d", "debian_version",  "os-release",
    "mime.types",   "protocols",       "services",
    "ssl/certs",    "ssl/openssl.cnf", "ca-certificates",
    "fonts",        "matplotlibrc",    "perl",
    "localtime",    "timezone",        "magic",
    "locale.alias", "maven/m2.conf",   "maven/logging",
};
// And those whose names begin so: versioned directories of Python, Java, Ruby…
constexpr const char* kHostEtcPrefixes[] = {"python3", "java-", "gem", "ruby"};

// Never copied, whatever their modes say.
constexpr const char* kNever[] = {
    // A jail has its own (yard_root.cc).
    "group", "host.conf", "hostname", "hosts", "mtab", "nsswitch.conf",
    "passwd", "resolv.conf", "sandglass", "shells",
    // Accounts, keys, passwords, tokens.
    "apt/auth.conf", "apt/auth.conf.d", "group-", "gshadow", "gshadow-",
    "maven/settings.xml", "npmrc", "passwd-", "pip.conf", "security", "shadow",
    "shadow-", "ssh", "ssl/private", "sudoers", "sudoers.d",
    // By it two machines are told apart.
    "machine-id",
    // It would be loaded into our own processes, too.
    "ld.so.preload"};

bool IsDirectoryItself(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(path, error));
}

// Whether everybody may read it, where it is of a kind that can be copied.
bool IsForAll(const fs::path& path) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0) return false;
  if (S_ISLNK(info.st_mode)) return true;
  if (S_ISREG(info.st_mode)) return (info.st_mode & S_IROTH) != 0;
  constexpr mode_t kEnter = S_IROTH | S_IXOTH;
  return S_ISDIR(info.st_mode) && (info.st_mode & kEnter) == kEnter;
}

bool IsNever(const fs::path& name) {
  return std::find(std::begin(kNever), std::end(kNever), name.string()) !=
         std::end(kNever);
}

// Adds what may be copied of `path`: the path itself, or, if something in it
// may not be, the parts that may. Returns whether it is all of it.
bool Collect(const fs::path& etc, const fs::path& path,
             std::vector<std::string>& sources) {
  if (!IsForAll(path) || IsNever(path.lexically_relative(etc))) return false;
  std::vector<std::string> parts;
  bool all = true;
  if (IsDirectoryItself(path)) {
    std::error_code error;
    for (const fs::directory_entry& entry :
         fs::directory_iterator(path, error)) {
      all = Collect(etc, entry.path(), parts) && all;
    }
    all = all && !error;
  }
  if (all) {
    sources.push_back(path.string());
  } else {
    sources.insert(sources.end(), parts.begin(), parts.end());
  }
  return all;
}

// Whether `name` is below /etc, with no link on the way that could lead out of
// the image.
bool IsBelow(const fs::path& etc, const fs::path& name) {
  fs::path way = etc;
  for (const fs::path& step : name.parent_path()) {
    way /= step;
    if (!IsDirectoryItself(way)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> ImageSources(
    const std::string& root, const std::vector<std::string>& host_etc) {
  std::vector<std::string> sources;
  const fs::path etc = root + "/etc";
  std::error_code error;
  // A link on the way could lead out of the image.
  if (!IsDirectoryItself(etc)) return sources;
  const auto take = [&](const fs::path& name) {
    if (IsBelow(etc, name)) Collect(etc, etc / name, sources);
  };
  if (root.empty()) {
    for (const char* name : kHostEtc) take(name);
    for (const std::string& name : host_etc) take(name);
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(etc, error)) {
    const std::string name = entry.path().filename().string();
    if (!root.empty() ||
        std::any_of(std::begin(kHostEtcPrefixes), std::end(kHostEtcPrefixes),
                    [&name](const char* prefix) {
                      return absl::StartsWith(name, prefix);
                    })) {
      take(name);
    }
  }
  std::sort(sources.begin(), sources.end());
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  return sources;
}

}  // namespace sandglass::sandbox
