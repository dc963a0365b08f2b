// The files of a jail, as init writes them and hands them out. First the
// request's files are staged, then the input plays the program and makes what
// it likes of /workspace, then init looks for what was asked for. A secret
// stands beside the workspace: nothing may reach it.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <set>
#include <string>

#include "policy/text/paths.h"
#include "sandbox/jailed/workspace.h"
#include "sandbox/os/files.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::sandbox {
namespace {

constexpr char kSecret[] = "secret";

class Fuzzed {
 public:
  explicit Fuzzed(fuzz::Input& input) : input_(input) {
    outside_.Write(kSecret, kSecret);
    FUZZ_CHECK(::mkdir(base_.c_str(), 0700) == 0);
    workspace_.reset(::open(base_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    FUZZ_CHECK(workspace_.valid());
  }

  void Run() {
    Stage();
    for (int left = input_.Byte() % 16; left > 0; --left) Act();
    if ((input_.Byte() & 1) != 0) Stage();  // among what the program made
    Find();
    // Nothing but the workspace and the secret, and that as it was.
    size_t names = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(outside_.path())) {
      ++names;
      (void)entry;
    }
    FUZZ_CHECK(names == 2);
    const auto secret = os::ReadWholeFile(outside_.Path(kSecret));
    FUZZ_CHECK(secret.ok() && *secret == kSecret);
  }

 private:
  void Stage() {
    internal::StartProgram request;
    std::string contents;
    for (int left = input_.Byte() % 4; left > 0; --left) {
      const std::string path = input_.Text();
      // The daemon lets no other through.
      if (!policy::ValidateRelativePath(path).ok()) continue;
      internal::StagedFile& file = *request.add_files();
      file.set_path(path);
      file.set_mode(0644);
      const std::string content = input_.Text();
      file.set_shared((content.size() & 1) != 0);
      file.set_size(content.size() + (content.size() == 7 ? 1 : 0));
      if (!file.shared()) contents += content;
    }
    const absl::StatusOr<os::Fd> content = os::MakeMemfd("content", contents);
    absl::StatusOr<os::Fd> shared = os::MakeSealedMemfd("shared", contents);
    FUZZ_CHECK(content.ok() && shared.ok());
    std::vector<os::Fd> all;
    all.push_back(*std::move(shared));
    (void)StageFilesIn(workspace_, request, *content, all);
  }

  // What a program can do to names. Its own paths may be anything.
  void Act() {
    const uint8_t act = input_.Byte();
    const std::string name = Name(), other = input_.Text();
    const int at = workspace_.get();
    switch (act % 7) {
      case 0:
        ::mkdirat(at, name.c_str(), 0755);
        return;
      case 1: {
        const os::Fd file(::openat(at, name.c_str(),
                                   O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
                                   0644));
        (void)!::write(file.get(), other.data(), other.size());
        return;
      }
      case 2:
        ::symlinkat(other.c_str(), at, name.c_str());
        return;
      case 3:
        ::symlinkat(("../" + std::string(kSecret)).c_str(), at, name.c_str());
        return;
      case 4:
        ::mkfifoat(at, name.c_str(), 0644);
        return;
      case 5:
        ::symlinkat("..", at, name.c_str());
        return;
      case 6:
        ::symlinkat(outside_.path().c_str(), at, name.c_str());
        return;
    }
  }

  // Without "..", and never through a link: the jail's root would hold a
  // program back, this process has the host's.
  std::string Name() {
    std::string name = input_.Text();
    if (!policy::ValidateRelativePath(name).ok()) return "a";
    for (size_t slash = name.find('/'); slash != std::string::npos;
         slash = name.find('/', slash + 1)) {
      struct stat info = {};
      if (::fstatat(workspace_.get(), name.substr(0, slash).c_str(), &info,
                    AT_SYMLINK_NOFOLLOW) != 0 ||
          !S_ISDIR(info.st_mode)) {
        return "b";
      }
    }
    return name;
  }

  void Find() {
    internal::CollectFiles request;
    size_t patterns = 0;
    for (int left = input_.Byte() % 6; left > 0; --left) {
      const std::string pattern = input_.Text();
      // As what a request names is checked; "" stands for init by itself.
      if (!policy::ValidateGlob(pattern).ok()) continue;
      request.add_patterns(pattern);
      ++patterns;
    }
    request.set_max_files(input_.Byte() % 16);
    size_t found = 0, unmatched = 0;
    std::set<std::string> seen;
    FindFilesIn(workspace_, request,
                [&](const std::string& path, FileProblem problem, os::Fd file) {
                  FUZZ_CHECK((problem == FileProblem::kNone) == file.valid());
                  if (policy::IsGlob(path) && !file.valid()) {
                    ++unmatched;
                    return;
                  }
                  FUZZ_CHECK(seen.insert(path).second);
                  ++found;
                  if (file.valid()) CheckFile(file);
                });
    FUZZ_CHECK(found <= request.max_files());
    FUZZ_CHECK(unmatched <= patterns + request.max_files());
  }

  // A regular file below the workspace, opened for reading only.
  void CheckFile(const os::Fd& file) const {
    struct stat info = {};
    FUZZ_CHECK(::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode));
    FUZZ_CHECK((::fcntl(file.get(), F_GETFL) & O_ACCMODE) == O_RDONLY);
    char target[PATH_MAX];
    const ssize_t size =
        ::readlink(("/proc/self/fd/" + std::to_string(file.get())).c_str(),
                   target, sizeof(target));
    FUZZ_CHECK(size > 0);
    FUZZ_CHECK(std::string_view(target, static_cast<size_t>(size))
                   .substr(0, base_.size() + 1) == base_ + "/");
  }

  fuzz::Input& input_;
  const fuzz::Directory outside_;
  const std::string base_ = outside_.Path("workspace");
  os::Fd workspace_;
};

}  // namespace
}  // namespace sandglass::sandbox

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::fuzz::Input input(data, size);
  sandglass::sandbox::Fuzzed(input).Run();
  return 0;
}
