#include "policy/verdict/hint_signs.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace sandglass::policy {
namespace {

struct Words {
  Sign sign;
  absl::string_view text;  // in lower case
};
constexpr Words kWords[] = {
    {Sign::kMemory, "memoryerror"},
    {Sign::kMemory, "bad_alloc"},
    {Sign::kMemory, "cannot allocate"},
    {Sign::kProcesses, "can't start new thread"},
    {Sign::kProcesses, "fork: retry"},
    {Sign::kProcesses, "fork: resource temporarily unavailable"},
    {Sign::kProcesses, "unable to create native thread"},
    {Sign::kProcesses, "failed to create new os thread"},
    {Sign::kProcesses, "can't create thread: resource temporarily unavailable"},
    {Sign::kProcesses, "resource temporarily unavailable - fork(2)"},
    {Sign::kDiskFull, "no space left on device"},
    {Sign::kDiskFull, "enospc"},
    {Sign::kDiskFull, "echo: i/o error"},  // dash
    {Sign::kFileSize, "file too large"},
    {Sign::kFileSize, "file size limit exceeded"},
    {Sign::kFileSize, "efbig"},
    {Sign::kOpenFiles, "too many open files"},
    {Sign::kOpenFiles, "emfile"},
    {Sign::kNetwork, "temporary failure in name resolution"},
    {Sign::kNetwork, "temporary failure resolving"},  // apt
    {Sign::kNetwork, "name or service not known"},
    {Sign::kNetwork, "no address associated with hostname"},
    {Sign::kNetwork, "network is unreachable"},
    {Sign::kNetwork, "could not resolve host"},          // curl, git
    {Sign::kNetwork, "unable to resolve host address"},  // wget
    {Sign::kNetwork, "unable to acquire the dpkg frontend lock"},
    {Sign::kNetwork, "unable to locate package"},
    {Sign::kNetwork, "getaddrinfo"},  // Node, Ruby, Python
    {Sign::kNetwork, "enetunreach"},
    {Sign::kNetwork, "eai_again"},
    {Sign::kNetwork, "fetch failed"},  // Node, which has the reason below
    {Sign::kNetwork, "dial tcp: lookup "},
    {Sign::kNetwork, "unknownhostexception"},
    {Sign::kNetwork, "unresolvedaddressexception"},
    {Sign::kNetwork, "bad hostname"},  // Perl
    {Sign::kNetwork, "failed to lookup address"},
    {Sign::kPackages, "no matching distribution found"},
    {Sign::kPackages, "could not find a version that satisfies"},
    {Sign::kPackages, "externally-managed-environment"},
    {Sign::kPackages, "ensurepip is not available"},
    {Sign::kPackages, "no module named pip"},
    {Sign::kPackages, "no such file or directory: 'pip"},
    {Sign::kPackages, "no such file or directory: 'npm"},
    {Sign::kPackages, "spawn npm enoent"},
    {Sign::kPackages, "!pip install"},
    {Sign::kPackages, "%pip install"},
    {Sign::kPackages, "npm err!"},
    {Sign::kPackages, "npm error"},
    {Sign::kPackages, "could not find a valid gem"},
    {Sign::kPackages, "module lookup disabled by goproxy"},
    {Sign::kInput, "eoferror: eof when reading a line"},
    {Sign::kInput, "end of file reached (eoferror)"},         // Ruby
    {Sign::kInput, "nosuchelementexception: no line found"},  // Java
    {Sign::kInput, "scanner.throwfor"},
    {Sign::kInput, "panic: eof"},
    {Sign::kTerminal, "out of pty"},
    {Sign::kTerminal, "create pseudo-terminal"},
    {Sign::kTerminal, "openpty"},
    {Sign::kTerminal, "posix_openpt"},
    {Sign::kTerminal, "/dev/ptmx"},
    {Sign::kTerminal, "create window failed: fork failed"},  // tmux
    {Sign::kFileWatch, "inotify"},
    {Sign::kFileWatch, "function not implemented, watch"},  // Node
};

bool Has(absl::string_view text, absl::string_view words) {
  return absl::StrContains(text, words);
}

// True when `line` names an absolute path outside of the places where a program
// may write.
bool NamesForeignPath(absl::string_view line) {
  constexpr absl::string_view kElsewhere[] = {"/workspace", "/tmp", "/home/",
                                              "/dev/", "/proc/"};
  for (size_t i = 0; i < line.size(); ++i) {
    const bool starts =
        line[i] == '/' &&
        (i == 0 || absl::StrContains(" '\"`:=(\t", line.substr(i - 1, 1)));
    if (!starts) continue;
    const absl::string_view path = line.substr(i);
    if (std::none_of(std::begin(kElsewhere), std::end(kElsewhere),
                     [path](absl::string_view prefix) {
                       return absl::StartsWith(path, prefix);
                     })) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool Says(Sign sign, absl::string_view text) {
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](const Words& words) {
                       return words.sign == sign && Has(text, words.text);
                     }) ||
         // getpass has no words of its own.
         (sign == Sign::kInput && Has(text, "getpass.py") &&
          Has(text, "eoferror")) ||
         // What `gets` gives at the end.
         (sign == Sign::kInput && Has(text, "gets") && Has(text, "for nil"));
}

bool SaysReadOnly(absl::string_view text) {
  if (Has(text, "read-only file system") || Has(text, "erofs")) return true;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if ((Has(line, "permission denied") ||
         Has(line, "accessdeniedexception")) &&
        NamesForeignPath(line)) {
      return true;
    }
  }
  return false;
}

bool InstallsPackages(absl::string_view command) {
  constexpr absl::string_view kTools[] = {
      "pip", "pip3", "npm",    "npx",    "yarn",   "pnpm",
      "gem", "uv",   "bundle", "poetry", "pipenv", "conda"};
  return std::find(std::begin(kTools), std::end(kTools), command) !=
         std::end(kTools);
}

}  // namespace sandglass::policy
