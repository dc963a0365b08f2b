#include "sandbox/yard/yard_root.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "sandbox/os/files.h"
#include "sandbox/os/mount.h"
#include "sandbox/os/status.h"
#include "sandbox/wire/jail_layout.h"
#include "sandbox/yard/image_etc.h"
#include "sandbox/yard/java_key_store.h"
#include "sandbox/yard/sandbox.h"

namespace sandglass::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kYardBytes = 1 << 20;
constexpr uint64_t kSkeletonBytes = 64 << 20;
constexpr uint64_t kDevBytes = 1 << 20;

struct Text {
  const char* path;
  const char* content;
};

// The same contents on every host, so that a program learns nothing about the
// host's accounts.
constexpr Text kEtc[] = {
    {"passwd",
     "root:x:0:0:root:/root:/usr/sbin/nologin\n"
     "sandbox:x:1000:1000:sandbox:/home/sandbox:/bin/bash\n"
     "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
    {"group", "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n"},
    {"hosts", "127.0.0.1 localhost sandglass\n::1 localhost ip6-localhost\n"},
    {"hostname", "sandglass\n"},
    {"nsswitch.conf",
     "passwd: files\ngroup: files\nhosts: files dns\nnetworks: files\n"
     "services: files\nprotocols: files\n"},
    {"resolv.conf", ""},
    {"host.conf", "multi on\n"},
    {"shells", "/bin/sh\n/bin/bash\n"},
};

absl::Status MakeDirs(const std::string& root,
                      std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const std::string path = absl::StrCat(root, "/", name);
    std::error_code error;
    fs::create_directories(path, error);
    if (error) {
      return absl::ErrnoToStatus(error.value(), absl::StrCat("mkdir ", path));
    }
  }
  return absl::OkStatus();
}

absl::Status MakeLink(const std::string& path, const char* target) {
  if (::symlink(target, path.c_str()) != 0) {
    return os::ErrnoStatus("symlink ", path);
  }
  return absl::OkStatus();
}

// Caches such as Python's compiled sitecustomize and fontconfig's compare a
// file's time to decide whether they are still valid. If the copies had the
// time of copying, each run would do their work anew.
bool CopyTimes(const fs::path& source, const fs::path& target) {
  struct stat info = {};
  if (::lstat(source.c_str(), &info) != 0) return false;
  const struct timespec times[] = {info.st_atim, info.st_mtim};
  return ::utimensat(AT_FDCWD, target.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0;
}

absl::Status CopyTreeTimes(const fs::path& source, const fs::path& target) {
  std::error_code error;
  if (fs::is_directory(fs::symlink_status(source, error))) {
    for (const fs::directory_entry& entry :
         fs::recursive_directory_iterator(source, error)) {
      const fs::path copy = target / entry.path().lexically_relative(source);
      if (!CopyTimes(entry.path(), copy)) {
        return os::ErrnoStatus("set the times of ", copy.string());
      }
    }
  }
  if (error || !CopyTimes(source, target)) {
    return os::ErrnoStatus("set the times of ", target.string());
  }
  return absl::OkStatus();
}

absl::Status CopyIntoEtc(const std::string& etc, const std::string& root,
                         const fs::path& source) {
  const fs::path name = source.lexically_relative(root + "/etc");
  std::error_code error;
  const fs::path target = fs::path(etc) / name;
  fs::create_directories(target.parent_path(), error);
  if (!error) {
    fs::copy(source, target,
             fs::copy_options::recursive | fs::copy_options::copy_symlinks,
             error);
  }
  if (error) {
    return absl::ErrnoToStatus(
        error.value(),
        absl::StrCat("copy ", source.string(), " into the image"));
  }
  return CopyTreeTimes(source, target);
}

// Fonts that have Chinese, Japanese and Korean characters, with the names by
// which matplotlib knows them, the smallest first.
struct WideFont {
  const char* path;
  const char* family;
};
constexpr WideFont kWideFonts[] = {
    {"/usr/share/fonts/truetype/wqy/wqy-microhei.ttc", "WenQuanYi Micro Hei"},
    {"/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf",
     "Droid Sans Fallback"},
    {"/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc", "WenQuanYi Zen Hei"},
    {"/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
     "Noto Sans CJK JP"},
};

// matplotlib takes characters from one font and draws a box for each that this
// font lacks, unless its configuration names another font after it. A
// configuration that chooses fonts itself is left as it is.
absl::Status AddWideFont(const std::string& etc, const std::string& root) {
  const std::string path = absl::StrCat(etc, "/matplotlibrc");
  std::ifstream before(path);
  if (!before.is_open()) return absl::OkStatus();
  for (std::string line; std::getline(before, line);) {
    if (absl::StartsWith(line, "font.family")) return absl::OkStatus();
  }
  for (const WideFont& font : kWideFonts) {
    std::error_code error;
    if (!fs::exists(root + font.path, error)) continue;
    std::ofstream file(path, std::ios::app);
    file << "\nfont.family: sans-serif, " << font.family << "\n";
    return file.flush() ? absl::OkStatus() : os::ErrnoStatus("write ", path);
  }
  return absl::OkStatus();
}

absl::Status FillEtc(const std::string& etc, const std::string& root,
                     const std::vector<std::string>& host_etc) {
  for (const Text& text : kEtc) {
    std::ofstream file(absl::StrCat(etc, "/", text.path));
    file << text.content;
    if (!file.flush()) return os::ErrnoStatus("write ", etc, "/", text.path);
  }
  for (const std::string& source : ImageSources(root, host_etc)) {
    if (absl::Status status = CopyIntoEtc(etc, root, source); !status.ok()) {
      return status;
    }
  }
  return AddWideFont(etc, root);
}

struct Device {
  const char* name;
  unsigned major;
  unsigned minor;
};
// Numbers from the kernel's devices.txt. tty is the terminal of the session of
// the process that opens it, whichever that is.
constexpr Device kDevices[] = {{"null", 1, 3},    {"zero", 1, 5},
                               {"full", 1, 7},    {"random", 1, 8},
                               {"urandom", 1, 9}, {"tty", 5, 0}};

absl::Status MakeDevice(const std::string& dev, const Device& device) {
  const std::string path = absl::StrCat(dev, "/", device.name);
  if (::mknod(path.c_str(), S_IFCHR | 0666,
              makedev(device.major, device.minor)) == 0 &&
      ::chmod(path.c_str(), 0666) == 0) {
    return absl::OkStatus();
  }
  // A container may forbid mknod, and a user namespace always does; binding the
  // existing device serves as well. A read-only mount preserves its permissions
  // and times, but it can still be written to.
  const os::Fd file(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
  const std::string host = absl::StrCat("/dev/", device.name);
  if (!file.valid() ||
      !os::BindWith(host.c_str(), path.c_str(),
                    os::kReadOnly | os::kNoSuid | os::kNoExec)) {
    return os::ErrnoStatus("make device ", path);
  }
  return absl::OkStatus();
}

absl::Status FillDev(const std::string& dev) {
  if (!os::MountTmpfs(dev.c_str(),
                      {.bytes = kDevBytes, .inodes = 64, .mode = 0755})) {
    return os::ErrnoStatus("mount tmpfs on ", dev);
  }
  for (const Device& device : kDevices) {
    if (absl::Status status = MakeDevice(dev, device); !status.ok()) {
      return status;
    }
  }
  for (const auto& [name, target] :
       {std::pair("fd", "/proc/self/fd"), std::pair("stdin", "/proc/self/fd/0"),
        std::pair("stdout", "/proc/self/fd/1"),
        std::pair("stderr", "/proc/self/fd/2")}) {
    if (absl::Status status = MakeLink(absl::StrCat(dev, "/", name), target);
        !status.ok()) {
      return status;
    }
  }
  return MakeDirs(dev, {"shm", "pts"});
}

absl::Status SetAttributes(const std::string& path, uint64_t attributes) {
  // Without AT_RECURSIVE, because the mounts at /usr and /dev have attributes
  // of their own.
  if (!os::SetMountAttributes(path.c_str(), attributes)) {
    return os::ErrnoStatus("set attributes of ", path);
  }
  return absl::OkStatus();
}

absl::Status WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.close();
  return file ? absl::OkStatus() : os::ErrnoStatus("write ", path);
}

absl::Status FillTrust(const std::string& image, const std::string& root,
                       const std::string& authority) {
  if (authority.empty()) return absl::OkStatus();
  if (absl::Status made = MakeDirs(image, {"etc/sandglass"}); !made.ok()) {
    return made;
  }
  // An image may have no trusted certificates.
  const std::string others =
      os::ReadWholeFile(root + "/etc/ssl/certs/ca-certificates.crt")
          .value_or("");
  if (absl::Status written = WriteFile(image + kAuthorityInJail, authority);
      !written.ok()) {
    return written;
  }
  const std::string trusted = absl::StrCat(others, "\n", authority);
  if (absl::Status written = WriteFile(image + kTrustedInJail, trusted);
      !written.ok()) {
    return written;
  }
  return WriteFile(image + kJvmTrustInJail, MakeJavaKeyStore(trusted));
}

// Models, and the people whose code they learned from, write "python"; Debian
// only has that name where python-is-python3 is installed.
absl::Status AddPython(const std::string& image, const std::string& root) {
  std::error_code error;
  for (const char* named : {"/usr/bin/python", "/usr/local/bin/python"}) {
    if (fs::exists(fs::symlink_status(root + named, error))) {
      return absl::OkStatus();
    }
  }
  if (!fs::exists(root + "/usr/bin/python3", error)) return absl::OkStatus();
  return MakeLink(absl::StrCat(image, kCommands, "/python"),
                  "/usr/bin/python3");
}

// `root` is where the image's /usr and /etc are, "" for the host's.
absl::Status FillImage(const std::string& image, const std::string& root,
                       const std::string& prepared,
                       const std::string& authority,
                       const std::vector<std::string>& host_etc) {
  if (!os::MountTmpfs(
          image.c_str(),
          {.bytes = kSkeletonBytes, .inodes = 16384, .mode = 0755})) {
    return os::ErrnoStatus("mount tmpfs on ", image);
  }
  if (absl::Status status =
          MakeDirs(image, {"usr", "etc", "dev", "proc", "sys", "tmp", "run",
                           "var/empty", "root", "workspace", "home/sandbox",
                           kPreparedInJail + 1, kLibraries + 1, kCommands + 1});
      !status.ok()) {
    return status;
  }
  // Debian 12 is always merged-/usr.
  for (const auto& [name, target] :
       {std::pair("bin", "usr/bin"), std::pair("sbin", "usr/sbin"),
        std::pair("lib", "usr/lib"), std::pair("lib64", "usr/lib64"),
        std::pair("var/tmp", "../tmp"),
        // Node looks there from every directory.
        std::pair("node_modules", "opt/libraries/node_modules"),
        std::pair("etc/mtab", "../proc/mounts")}) {
    if (absl::Status status = MakeLink(absl::StrCat(image, "/", name), target);
        !status.ok()) {
      return status;
    }
  }
  if (absl::Status status = AddPython(image, root); !status.ok()) {
    return status;
  }
  if (absl::Status status = FillEtc(image + "/etc", root, host_etc);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = FillTrust(image, root, authority); !status.ok()) {
    return status;
  }
  if (absl::Status status = FillDev(image + "/dev"); !status.ok()) {
    return status;
  }
  if (!os::BindWith((root + "/usr").c_str(), (image + "/usr").c_str(),
                    os::kReadOnly | os::kNoSuid | os::kNoDev)) {
    return os::ErrnoStatus("bind ", root, "/usr into the image");
  }
  if (!prepared.empty() &&
      !os::BindWith(prepared.c_str(), (image + kPreparedInJail).c_str(),
                    os::kReadOnly | os::kNoSuid | os::kNoDev | os::kNoExec)) {
    return os::ErrnoStatus("bind ", prepared, " into the image");
  }
  // ORDER: made read-only last, when everything is in it.
  if (absl::Status status = SetAttributes(
          image + "/dev", os::kReadOnly | os::kNoSuid | os::kNoExec);
      !status.ok()) {
    return status;
  }
  return SetAttributes(image, os::kReadOnly | os::kNoSuid | os::kNoDev);
}

bool IsRealDirectory(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(path, error));
}

absl::Status Refuse(const policy::Image& image, absl::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat("image \"", image.name, "\": ", what));
}

// Empty when the path is acceptable.
std::string WhyNotRoots(const std::string& path) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0) {
    return absl::StrCat(path, ": ", os::ErrorText(errno));
  }
  if (!S_ISDIR(info.st_mode)) return absl::StrCat(path, " is no directory");
  if (info.st_uid != 0 || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return absl::StrCat(path,
                        " can be changed by others than root; chown root ",
                        path, " && chmod go-w ", path);
  }
  if ((info.st_mode & S_IXOTH) == 0) {
    return absl::StrCat(path, " can't be entered by jails; chmod o+x ", path);
  }
  return "";
}

// Names who could put another directory in place of this one: everyone who may
// write into a directory above it, except where the sticky bit allows that to
// owners only (unlink(2)). Empty: nobody.
std::string WhoCouldReplace(const std::string& path) {
  struct stat top = {};
  if (::stat("/", &top) != 0) return "/ can't be looked at";
  for (fs::path above = fs::path(path).parent_path(); above.has_relative_path();
       above = above.parent_path()) {
    struct stat info = {};
    if (::lstat(above.c_str(), &info) != 0) {
      return absl::StrCat(above.string(), ": ", os::ErrorText(errno));
    }
    // In a user namespace the host's root may have no id of its own.
    const bool roots = info.st_uid == 0 || info.st_uid == top.st_uid;
    const bool open = (info.st_mode & S_IWOTH) != 0 ||
                      ((info.st_mode & S_IWGRP) != 0 && info.st_gid != 0);
    if (!roots || (open && (info.st_mode & S_ISVTX) == 0)) {
      return absl::StrCat(above.string(),
                          ", on the way to it, can be changed by others than "
                          "root; chown root ",
                          above.string(), " && chmod go-w ", above.string());
    }
  }
  return "";
}

}  // namespace

absl::Status CheckImage(const policy::Image& image) {
  std::error_code error;
  const std::string target = fs::canonical(image.root, error).string();
  // Anyone who may change one of the links could lead the path elsewhere.
  if (!error && target != image.root) {
    return Refuse(image, absl::StrCat(image.root, " has links, or is written ",
                                      "in a roundabout way; write ", target));
  }
  const std::string who = WhoCouldReplace(image.root);
  if (!who.empty()) return Refuse(image, who);
  for (const char* below : {"", "/usr"}) {
    const std::string why = WhyNotRoots(image.root + below);
    if (!why.empty()) return Refuse(image, why);
  }
  for (const char* name : {"/bin", "/lib"}) {
    const std::string path = image.root + name;
    if (!IsRealDirectory(path)) continue;
    return Refuse(image, absl::StrCat(path,
                                      " is a directory of its own; jails get "
                                      "only /usr, which has to have all (a "
                                      "merged /usr, as Debian 12's)"));
  }
  return absl::OkStatus();
}

absl::Status BuildYardRoot(const std::string& directory,
                           const std::string& prepared,
                           const std::string& layers,
                           const std::vector<policy::Image>& images,
                           const std::string& authority,
                           const std::vector<std::string>& host_etc) {
  if (!os::MountTmpfs(directory.c_str(),
                      {.bytes = kYardBytes, .inodes = 256, .mode = 0755})) {
    return os::ErrnoStatus("mount tmpfs on ", directory);
  }
  // Joining the paths drops the leading "/" of the constants.
  if (absl::Status status =
          MakeDirs(directory, {kYardImage + 1, kYardMount + 1, kYardScratch + 1,
                               kYardLayers + 1, "proc", "dev"});
      !status.ok()) {
    return status;
  }
  const std::string layers_here = directory + kYardLayers;
  if (!layers.empty() &&
      !os::BindWith(layers.c_str(), layers_here.c_str(),
                    os::kReadOnly | os::kNoSuid | os::kNoDev)) {
    return os::ErrnoStatus("bind ", layers, " into the yard");
  }
  // For a spawner that isn't linked statically (builds with sanitizers).
  const std::string usr = absl::StrCat(kYardImage + 1, "/usr");
  for (const auto& [name, target] :
       {std::pair("usr", usr), std::pair("lib", usr + "/lib"),
        std::pair("lib64", usr + "/lib64"),
        std::pair("etc", absl::StrCat(kYardImage + 1, "/etc"))}) {
    if (absl::Status status =
            MakeLink(absl::StrCat(directory, "/", name), target.c_str());
        !status.ok()) {
      return status;
    }
  }
  for (const policy::Image& image : images) {
    const std::string place = directory + YardImage(image.name);
    absl::Status status = MakeDirs(place, {""});
    if (status.ok()) {
      status = FillImage(place, image.root, prepared, authority, {});
    }
    if (!status.ok()) return status;
  }
  return FillImage(directory + kYardImage, "", prepared, authority, host_etc);
}

}  // namespace sandglass::sandbox
