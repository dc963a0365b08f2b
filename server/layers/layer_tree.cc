#include "server/layers/layer_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sandbox/os/open_beneath.h"
#include "server/base/digest.h"
#include "server/base/durable_log.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

constexpr int kMaxLevels = 100;
// Stays below PATH_MAX with the mount's own path.
constexpr size_t kMaxPath = 3000;
constexpr size_t kReadBytes = size_t{1} << 18;
constexpr char kFormat[] = "sandglass layer 1";
constexpr size_t kFields = 8;

absl::Status Refuse(const std::string& path, absl::string_view words) {
  return absl::InvalidArgumentError(
      absl::StrCat("a layer can't have ", Quoted(path, 256), ": ", words));
}

int64_t Nanos(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void RecordState(const struct stat& info, LayerEntry& entry) {
  entry.inode = info.st_ino;
  entry.mtime_ns = Nanos(info.st_mtim);
  entry.ctime_ns = Nanos(info.st_ctim);
}

bool HasControl(absl::string_view text) {
  return std::any_of(text.begin(), text.end(), absl::ascii_iscntrl);
}

// One walk over a tree.
class Scan {
 public:
  Scan(const os::Fd& top, const LayerBounds& bounds, ScanMode mode)
      : top_(top), bounds_(bounds), mode_(mode) {}

  absl::StatusOr<LayerManifest> Run() {
    if (absl::Status s = Directory(top_.get(), ".", 0); !s.ok()) return s;
    for (const LayerEntry& entry : manifest_.entries) {
      if (entry.type != 'l') continue;
      if (absl::Status s = CheckLink(entry); !s.ok()) return s;
    }
    std::sort(manifest_.entries.begin(), manifest_.entries.end(),
              [](const LayerEntry& a, const LayerEntry& b) {
                return a.path < b.path;
              });
    return std::move(manifest_);
  }

 private:
  absl::Status Directory(int fd, const std::string& path, int level) {
    if (level > kMaxLevels) {
      return Refuse(
          path, absl::StrCat("it is more than ", kMaxLevels, " levels deep"));
    }
    struct stat info = {};
    if (mode_ == ScanMode::kSeal && ::fchmod(fd, 0755) != 0) {
      return DiskError(absl::StrCat("change ", Quoted(path, 256)));
    }
    if (::fstat(fd, &info) != 0) return DiskError("look at a layer");
    if (absl::Status s = CheckOwner(info, path); !s.ok()) return s;
    LayerEntry entry = {
        .path = path, .type = 'd', .mode = info.st_mode & 07777};
    RecordState(info, entry);
    if (absl::Status s = Keep(std::move(entry)); !s.ok()) return s;
    const int copy = ::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(
        copy < 0 ? nullptr : ::fdopendir(copy), ::closedir);
    if (stream == nullptr) return DiskError("read a layer's directory");
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    while (const dirent* each = ::readdir(stream.get())) {
      const std::string name = each->d_name;
      if (name == "." || name == "..") continue;
      const std::string inner =
          path == "." ? name : absl::StrCat(path, "/", name);
      if (absl::Status s = One(fd, name, inner, level); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  absl::Status One(int directory, const std::string& name,
                   const std::string& path, int level) {
    if (HasControl(name)) {
      return Refuse(path, "its name has a control character");
    }
    if (path.size() > kMaxPath) return Refuse(path, "its path is too long");
    struct stat info = {};
    if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return DiskError(absl::StrCat("look at ", Quoted(path, 256)));
    }
    if (absl::Status s = CheckOwner(info, path); !s.ok()) return s;
    if (S_ISLNK(info.st_mode)) return Link(directory, name, path, info);
    if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
      return Refuse(path, "it is no file, directory or symbolic link");
    }
    if ((info.st_mode & (S_ISUID | S_ISGID | S_ISVTX)) != 0) {
      return Refuse(path, "it has a set-id or sticky bit");
    }
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    const os::Fd fd(::openat(directory, name.c_str(), flags));
    if (!fd.valid()) return DiskError(absl::StrCat("open ", Quoted(path, 256)));
    return S_ISDIR(info.st_mode) ? Directory(fd.get(), path, level + 1)
                                 : File(fd.get(), path);
  }

  static absl::Status CheckOwner(const struct stat& info,
                                 const std::string& path) {
    if (info.st_uid == ::geteuid()) return absl::OkStatus();
    return Refuse(path, absl::StrCat("it belongs to uid ", info.st_uid,
                                     ", not to this server"));
  }

  absl::Status File(int fd, const std::string& path) {
    struct stat info = {};
    if (::fstat(fd, &info) != 0) return DiskError("look at a layer's file");
    if (!S_ISREG(info.st_mode)) return Refuse(path, "it changed meanwhile");
    if (info.st_nlink > 1) return Refuse(path, "it has a second name");
    if (::fgetxattr(fd, "security.capability", nullptr, 0) > 0) {
      return Refuse(path, "it gives capabilities to who executes it");
    }
    const mode_t sealed = (info.st_mode & 0111) != 0 ? 0755 : 0644;
    if (mode_ == ScanMode::kSeal && (info.st_mode & 07777) != sealed &&
        (::fchmod(fd, sealed) != 0 || ::fstat(fd, &info) != 0)) {
      return DiskError(absl::StrCat("change ", Quoted(path, 256)));
    }
    LayerEntry entry = {.path = path,
                        .mode = info.st_mode & 07777,
                        .size = static_cast<uint64_t>(info.st_size)};
    RecordState(info, entry);
    bytes_ += entry.size;
    if (bytes_ > bounds_.max_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the libraries take more than ", bounds_.max_bytes,
                       " bytes, which is all that a set may take"));
    }
    absl::StatusOr<std::string> digest = DigestOf(fd, entry.size, path);
    if (!digest.ok()) return digest.status();
    entry.content = *std::move(digest);
    return Keep(std::move(entry));
  }

  static absl::StatusOr<std::string> DigestOf(int fd, uint64_t size,
                                              const std::string& path) {
    Digest digest;
    const auto buffer = std::make_unique<char[]>(kReadBytes);
    uint64_t total = 0;
    while (true) {
      const ssize_t got = ::read(fd, buffer.get(), kReadBytes);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return DiskError(absl::StrCat("read ", Quoted(path, 256)));
      if (got == 0) break;
      total += static_cast<uint64_t>(got);
      // Otherwise this would never end if somebody wrote as fast as it reads.
      if (total > size) break;
      digest.AddBytes({buffer.get(), static_cast<size_t>(got)});
    }
    if (total != size) return Refuse(path, "it changed meanwhile");
    return digest.Hex();
  }

  absl::Status Link(int directory, const std::string& name,
                    const std::string& path, const struct stat& info) {
    char target[PATH_MAX];
    const ssize_t size =
        ::readlinkat(directory, name.c_str(), target, sizeof(target));
    if (size < 0) return DiskError(absl::StrCat("read ", Quoted(path, 256)));
    if (size == static_cast<ssize_t>(sizeof(target))) {
      return Refuse(path, "its target is too long");
    }
    LayerEntry entry = {
        .path = path,
        .type = 'l',
        .content = std::string(target, static_cast<size_t>(size))};
    if (HasControl(entry.content)) {
      return Refuse(path, "its target has a control character");
    }
    RecordState(info, entry);
    return Keep(std::move(entry));
  }

  // Checks that a link stays inside, both by its text and by where the kernel
  // finds that it leads, since the way along one link may lead through others.
  absl::Status CheckLink(const LayerEntry& entry) const {
    const std::string& target = entry.content;
    if (target.empty() || target[0] == '/') {
      return Refuse(entry.path, "it is a link with an absolute target");
    }
    auto level = std::count(entry.path.begin(), entry.path.end(), '/');
    for (const absl::string_view part : absl::StrSplit(target, '/')) {
      if (part.empty() || part == ".") continue;
      level += part == ".." ? -1 : 1;
      if (level < 0) return Refuse(entry.path, "it is a link that leads out");
    }
    const os::Fd found =
        os::OpenBeneath(top_, entry.path.c_str(), O_PATH | O_CLOEXEC);
    // A link to nothing can't come to lead anywhere, because nothing is ever
    // added to a layer.
    if (found.valid() || errno == ENOENT || errno == ENOTDIR) {
      return absl::OkStatus();
    }
    return Refuse(entry.path, errno == EXDEV
                                  ? "it is a link that leads out"
                                  : absl::StrCat("it is a link that can't be "
                                                 "followed: ",
                                                 ErrorText(errno)));
  }

  absl::Status Keep(LayerEntry entry) {
    // The top isn't counted.
    if (manifest_.entries.size() > bounds_.max_files) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the libraries have more than ", bounds_.max_files,
                       " files, which is all that a set may have"));
    }
    manifest_.entries.push_back(std::move(entry));
    return absl::OkStatus();
  }

  const os::Fd& top_;
  const LayerBounds& bounds_;
  const ScanMode mode_;
  LayerManifest manifest_;
  uint64_t bytes_ = 0;
};

}  // namespace

uint64_t LayerManifest::bytes() const {
  uint64_t sum = 0;
  for (const LayerEntry& entry : entries) sum += entry.size;
  return sum;
}

std::string LayerManifest::Id() const {
  Digest digest;
  digest.Add(kFormat);
  digest.AddNumber(entries.size());
  for (const LayerEntry& entry : entries) {
    digest.Add(entry.path);
    digest.Add(std::string(1, entry.type));
    digest.AddNumber(entry.mode);
    digest.AddNumber(entry.size);
    digest.Add(entry.content);
  }
  return digest.Hex();
}

std::string LayerManifest::ToText() const {
  std::string text = absl::StrCat(kFormat, "\n");
  for (const LayerEntry& entry : entries) {
    absl::StrAppend(&text, std::string(1, entry.type), "\t", entry.mode, "\t",
                    entry.size, "\t", entry.inode, "\t", entry.mtime_ns, "\t",
                    entry.ctime_ns, "\t", entry.content, "\t");
    absl::StrAppend(&text, entry.path, "\n");
  }
  return text;
}

absl::StatusOr<LayerManifest> LayerManifest::Parse(absl::string_view text) {
  const auto damaged = [] {
    return absl::DataLossError("the layer's manifest is damaged");
  };
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (lines.size() < 3 || lines.front() != kFormat || !lines.back().empty()) {
    return damaged();
  }
  LayerManifest manifest;
  for (size_t i = 1; i + 1 < lines.size(); ++i) {
    const std::vector<absl::string_view> fields =
        absl::StrSplit(lines[i], '\t');
    LayerEntry entry;
    if (fields.size() != kFields || fields[0].size() != 1 ||
        !absl::SimpleAtoi(fields[1], &entry.mode) ||
        !absl::SimpleAtoi(fields[2], &entry.size) ||
        !absl::SimpleAtoi(fields[3], &entry.inode) ||
        !absl::SimpleAtoi(fields[4], &entry.mtime_ns) ||
        !absl::SimpleAtoi(fields[5], &entry.ctime_ns)) {
      return damaged();
    }
    entry.type = fields[0][0];
    entry.content = std::string(fields[6]);
    entry.path = std::string(fields[7]);
    manifest.entries.push_back(std::move(entry));
  }
  return manifest;
}

absl::StatusOr<LayerManifest> ScanLayer(const os::Fd& top,
                                        const LayerBounds& bounds,
                                        ScanMode mode) {
  return Scan(top, bounds, mode).Run();
}

bool LooksUntouched(const os::Fd& top, const LayerManifest& manifest) {
  return std::all_of(
      manifest.entries.begin(), manifest.entries.end(),
      [&top](const LayerEntry& entry) {
        struct stat info = {};
        if (::fstatat(top.get(), entry.path.c_str(), &info,
                      AT_SYMLINK_NOFOLLOW) != 0) {
          return false;
        }
        const char type = S_ISREG(info.st_mode)   ? 'f'
                          : S_ISDIR(info.st_mode) ? 'd'
                          : S_ISLNK(info.st_mode) ? 'l'
                                                  : '?';
        const bool sized =
            type != 'f' || static_cast<uint64_t>(info.st_size) == entry.size;
        LayerEntry now;
        RecordState(info, now);
        return type == entry.type && sized && now.inode == entry.inode &&
               now.mtime_ns == entry.mtime_ns && now.ctime_ns == entry.ctime_ns;
      });
}

}  // namespace sandglass::server
