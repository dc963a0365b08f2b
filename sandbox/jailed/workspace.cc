#include "sandbox/jailed/workspace.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "policy/text/paths.h"
#include "sandbox/jailed/code_rights.h"
#include "sandbox/jailed/stage.h"
#include "sandbox/os/files.h"
#include "sandbox/os/io.h"
#include "sandbox/os/open_beneath.h"

namespace sandglass::sandbox {
namespace {

constexpr int kMaxDepth = 32;
constexpr int kMaxEntries = 100'000;

bool CopyBytes(const os::Fd& from, const os::Fd& to, uint64_t size) {
  char buffer[32 * 1024];
  while (size > 0) {
    const ssize_t got =
        ::read(from.get(), buffer, std::min<uint64_t>(size, sizeof(buffer)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) {
      errno = ENODATA;
      return false;
    }
    if (!os::WriteAll(to.get(), {buffer, static_cast<size_t>(got)})) {
      return false;
    }
    size -= static_cast<uint64_t>(got);
  }
  return true;
}

// Copies from the start without moving the offset, which others share.
bool CopyWhole(const os::Fd& from, const os::Fd& to, uint64_t size) {
  off_t offset = 0;
  while (static_cast<uint64_t>(offset) < size) {
    const ssize_t sent =
        ::sendfile(to.get(), from.get(), &offset,
                   static_cast<size_t>(size - static_cast<uint64_t>(offset)));
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    if (sent == 0) {
      errno = ENODATA;
      return false;
    }
  }
  return true;
}

// A directory stream with a descriptor of its own.
using DirStream = std::unique_ptr<DIR, int (*)(DIR*)>;

class Finder {
 public:
  Finder(const os::Fd& workspace, const internal::CollectFiles& request,
         const FileSink& sink)
      : workspace_(workspace), request_(request), sink_(sink) {}

  bool Run() {
    std::vector<std::string> globs;
    for (const std::string& pattern : request_.patterns()) {
      // A name may have brackets itself, as in "[slug].tsx". One with a star is
      // more likely made by a shell that found nothing for its pattern, so
      // there what else it stands for counts, too.
      const bool is_name = !policy::IsGlob(pattern) || IsThere(pattern);
      if (is_name) Report(pattern);
      if (!is_name || pattern.find('*') != std::string::npos) {
        globs.push_back(pattern);
        matched_.push_back(is_name);
      }
    }
    if (!globs.empty()) {
      Walk("", globs, 0);
      for (size_t i = 0; i < globs.size(); ++i) {
        if (!matched_[i]) sink_(globs[i], FileProblem::kNotFound, os::Fd());
      }
    }
    return complete_;
  }

 private:
  bool IsThere(const std::string& path) const {
    return os::OpenBeneath(workspace_, path.c_str(), O_PATH | O_NOFOLLOW)
        .valid();
  }

  // Opens one path and passes it to the sink; each path only once.
  void Report(const std::string& path) {
    if (!seen_.insert(path).second) return;
    if (seen_.size() > request_.max_files()) {
      complete_ = false;
      return;
    }
    // O_NONBLOCK: opening a FIFO without a writer must not block init.
    os::Fd file = os::OpenBeneath(workspace_, path.c_str(),
                                  O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!file.valid()) {
      sink_(path, Classify(errno), os::Fd());
      return;
    }
    struct stat info = {};
    FileProblem problem = FileProblem::kNone;
    if (::fstat(file.get(), &info) != 0) {
      problem = FileProblem::kNotFound;
    } else if (S_ISDIR(info.st_mode)) {
      problem = FileProblem::kIsDirectory;
    } else if (!S_ISREG(info.st_mode)) {
      problem = FileProblem::kNotRegular;
    }
    if (problem != FileProblem::kNone) file.reset();
    sink_(path, problem, std::move(file));
  }

  static FileProblem Classify(int error) {
    switch (error) {
      case EACCES:
      case EPERM:
        return FileProblem::kPermissionDenied;
      case EXDEV:  // leads out of /workspace
      case ELOOP:  // a magic link, or links in a circle
      case ENXIO:  // a socket
      case ENODEV:
        return FileProblem::kNotRegular;
      default:
        return FileProblem::kNotFound;
    }
  }

  void Walk(const std::string& directory, const std::vector<std::string>& globs,
            int depth) {
    if (depth > kMaxDepth) {
      complete_ = false;
      return;
    }
    os::Fd fd =
        os::OpenBeneath(workspace_, directory.empty() ? "." : directory.c_str(),
                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!fd.valid()) return;
    const DirStream stream(::fdopendir(fd.get()), ::closedir);
    if (stream == nullptr) return;
    (void)fd.release();  // the stream owns it now
    // glibc's readdir is unsafe only where threads share one stream.
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    while (const struct dirent* entry = ::readdir(stream.get())) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (++entries_ > kMaxEntries) {
        complete_ = false;
        return;
      }
      const std::string path =
          directory.empty() ? name : absl::StrCat(directory, "/", name);
      if (entry->d_type == DT_DIR) {
        Walk(path, globs, depth + 1);
        continue;
      }
      for (size_t i = 0; i < globs.size(); ++i) {
        if (!policy::GlobMatch(globs[i], path)) continue;
        matched_[i] = true;
        Report(path);
      }
    }
  }

  const os::Fd& workspace_;
  const internal::CollectFiles& request_;
  const FileSink& sink_;
  std::set<std::string> seen_;
  std::vector<bool> matched_;
  int entries_ = 0;
  bool complete_ = true;
};

}  // namespace

bool StageFiles(const internal::StartProgram& request, const os::Fd& content,
                absl::Span<const os::Fd> shared) {
  const CodeRights rights;
  const os::Fd workspace = OpenWorkspace();
  return workspace.valid() && StageFilesIn(workspace, request, content, shared);
}

bool StageFilesIn(const os::Fd& workspace,
                  const internal::StartProgram& request, const os::Fd& content,
                  absl::Span<const os::Fd> shared) {
  for (const internal::StagedFile& file : request.files()) {
    const os::Fd target =
        CreateStaged(workspace, file.path().c_str(), file.mode());
    if (!target.valid()) return false;
    if (!file.shared()) {
      if (!CopyBytes(content, target, file.size())) return false;
      continue;
    }
    if (shared.empty()) {
      errno = EBADMSG;
      return false;
    }
    if (!CopyWhole(shared.front(), target, file.size())) return false;
    shared.remove_prefix(1);
  }
  return true;
}

bool FindFiles(const internal::CollectFiles& request, const FileSink& sink) {
  const CodeRights rights;
  return FindFilesIn(OpenWorkspace(), request, sink);
}

bool FindFilesIn(const os::Fd& workspace, const internal::CollectFiles& request,
                 const FileSink& sink) {
  return Finder(workspace, request, sink).Run();
}

}  // namespace sandglass::sandbox
