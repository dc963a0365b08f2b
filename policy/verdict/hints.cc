#include "policy/verdict/hints.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace sandglass::policy {
namespace {

using Texts = std::initializer_list<absl::string_view>;

bool HasAny(absl::string_view text, Texts needles) {
  return std::any_of(needles.begin(), needles.end(),
                     [text](absl::string_view needle) {
                       return absl::StrContains(text, needle);
                     });
}

// True when `line` names an absolute path outside of the places where a program
// may write.
bool NamesForeignPath(absl::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    const bool starts =
        line[i] == '/' &&
        (i == 0 || absl::StrContains(" '\"`:=(\t", line.substr(i - 1, 1)));
    if (!starts) continue;
    const absl::string_view path = line.substr(i);
    const Texts writable = {"/workspace", "/tmp", "/home/", "/dev/", "/proc/"};
    if (std::none_of(writable.begin(), writable.end(),
                     [path](absl::string_view prefix) {
                       return absl::StartsWith(path, prefix);
                     })) {
      return true;
    }
  }
  return false;
}

bool MetReadOnlyRoot(absl::string_view text) {
  if (absl::StrContains(text, "Read-only file system")) return true;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StrContains(line, "Permission denied") &&
        NamesForeignPath(line)) {
      return true;
    }
  }
  return false;
}

// The longest prefix of `text` that looks like the name of a module or command;
// empty when it is suspiciously long.
absl::string_view LeadingName(absl::string_view text,
                              absl::string_view marks = "._+-") {
  constexpr size_t kMaxName = 64;
  size_t length = 0;
  while (length < text.size() &&
         (absl::ascii_isalnum(static_cast<unsigned char>(text[length])) ||
          absl::StrContains(marks, text.substr(length, 1)))) {
    ++length;
  }
  return length <= kMaxName ? text.substr(0, length) : absl::string_view();
}

// A text with which a runtime or compiler says that it lacks a library; the
// library's name follows.
struct MissingMark {
  absl::string_view mark;
  absl::string_view kind;  // for people
};
constexpr MissingMark kMissingMarks[] = {
    {"No module named '", "Python module"},
    {"No module named ", "Python module"},
    {"Cannot find module '", "Node module"},
    {"Cannot find package '", "Node package"},
    {"cannot load such file -- ", "Ruby library"},
    {"no required module provides package ", "Go package"},
    {"Can't locate ", "Perl module"},
};

// For "…No module named 'numpy.linalg'": "Python module" and "numpy.linalg".
// Both empty when there is no such text.
std::pair<absl::string_view, absl::string_view> MissingLibrary(
    absl::string_view text) {
  for (const auto& [mark, kind] : kMissingMarks) {
    const size_t at = text.rfind(mark);
    if (at == absl::string_view::npos) continue;
    const absl::string_view name =
        LeadingName(text.substr(at + mark.size()), "._+-/@");
    // If a file of the program itself is missing, there is a path before its
    // name.
    if (!name.empty() && name[0] != '.' && name[0] != '/') return {kind, name};
  }
  return {};
}

// For "main.sh: line 3: jq: command not found": "jq".
absl::string_view MissingCommand(absl::string_view text) {
  const size_t at = text.rfind(": command not found");
  if (at == absl::string_view::npos) return {};
  const absl::string_view before = text.substr(0, at);
  const size_t space = before.find_last_of(" \n");
  const absl::string_view word =
      space == absl::string_view::npos ? before : before.substr(space + 1);
  return LeadingName(word) == word ? word : absl::string_view();
}

void Add(std::vector<Hint>& hints, absl::string_view id,
         absl::string_view message) {
  Hint hint;
  hint.id.assign(id.data(), id.size());
  hint.message.assign(message.data(), message.size());
  hints.push_back(std::move(hint));
}

void AddLimitHints(const HintFacts& facts, absl::string_view text,
                   std::vector<Hint>& hints) {
  const Outcome outcome = facts.outcome;
  if ((outcome == Outcome::kMemoryLimit && !facts.uncharged) ||
      HasAny(text, {"MemoryError", "Cannot allocate memory", "bad_alloc",
                    "cannot allocate"})) {
    Add(hints, "memory",
        "The program needs more memory than limits.memory_bytes; work on "
        "the data in pieces. What it keeps in /tmp and /workspace counts "
        "as well.");
  }
  if (outcome == Outcome::kTimeout) {
    Add(hints, "timeout",
        "The program was still running at limits.wall_time; look for a "
        "loop without end, a sleep, or a wait for something that never "
        "comes.");
  }
  if (outcome == Outcome::kCpuLimit) {
    Add(hints, "cpu-time",
        "The program used up limits.cpu_time; all its processes and "
        "threads count together.");
  }
  if (outcome == Outcome::kPidsLimit ||
      HasAny(text, {"can't start new thread", "fork: retry",
                    "fork: Resource temporarily unavailable"})) {
    Add(hints, "pids",
        "The program asked for more processes and threads at once than "
        "limits.max_processes; wait for some to end or start fewer.");
  }
  if (outcome == Outcome::kOutputLimit) {
    Add(hints, "output-limit",
        "The program wrote more than limits.output_total_bytes; print "
        "less, or write results to a file in /workspace and fetch it.");
  } else if (facts.output_truncated) {
    Add(hints, "output-truncated",
        "The answer keeps only the first and last part of the output; write "
        "long results to a file in /workspace and fetch it.");
  }
  if (facts.files_left_out) {
    Add(hints, "files-left-out",
        "More files match the fetch patterns than one answer brings; pack "
        "them into one archive and fetch that.");
  }
  if (outcome == Outcome::kDiskLimit ||
      absl::StrContains(text, "No space left on device")) {
    Add(hints, "disk-full",
        "/tmp or /workspace has no room left; see limits.tmp_bytes, "
        "limits.workspace_bytes and limits.max_files.");
  }
  if (outcome == Outcome::kFileSizeLimit ||
      HasAny(text, {"File too large", "File size limit exceeded"})) {
    Add(hints, "file-size",
        "The program wrote a file past limits.file_size_bytes; split "
        "it.");
  }
  if (absl::StrContains(text, "Too many open files")) {
    Add(hints, "open-files",
        "The program has more files open than limits.open_files; close "
        "those that it no longer needs.");
  }
}

void AddSurroundingsHints(const HintFacts& facts, absl::string_view text,
                          std::vector<Hint>& hints) {
  if (!facts.has_network &&
      HasAny(text, {"Temporary failure in name resolution",
                    "Name or service not known", "Network is unreachable",
                    "Could not resolve host",
                    "No address associated with hostname"})) {
    Add(hints, "network-off",
        "The network is off in this profile; give the program its data "
        "with the request.");
  }
  if (MetReadOnlyRoot(text)) {
    Add(hints, "read-only-root",
        "The root is read-only; write to /workspace or /tmp.");
  }
  if (const auto [kind, name] = MissingLibrary(text); !name.empty()) {
    Add(hints, "missing-module",
        absl::StrCat("The ", kind, " \"", name,
                     "\" is not installed in the sandbox and can't be "
                     "installed by the program."));
  }
  if (const absl::string_view name = MissingCommand(text); !name.empty()) {
    Add(hints, "missing-command",
        absl::StrCat("The command \"", name,
                     "\" is not installed in the sandbox and can't be "
                     "installed by the program."));
  }
  if (HasAny(text, {"out of pty devices", "create pseudo-terminal",
                    "out of pty", "openpty", "posix_openpt", "/dev/ptmx",
                    "create window failed: fork failed"})) {
    Add(hints, "no-terminal",
        "Programs can't open terminals of their own (pty, as script, pexpect "
        "and tmux do); use pipes, or start the command itself on a terminal, "
        "as a session's commands can be.");
  }
  if (HasAny(text, {"inotify", "function not implemented, watch"})) {
    Add(hints, "no-file-watch",
        "Files can't be watched in the sandbox (inotify, fs.watch); look at "
        "them from time to time, as fs.watchFile and a watcher's polling mode "
        "do.");
  }
  if (absl::StrContains(text, "EOFError: EOF when reading a line")) {
    if (facts.stdin_given) {
      Add(hints, "stdin-ended",
          "The program asked for more input than the request's stdin "
          "had.");
    } else {
      Add(hints, "stdin-empty",
          "The program reads standard input and the request gave none; "
          "nobody can type while it runs.");
    }
  }
}

}  // namespace

std::vector<Hint> MakeHints(const HintFacts& facts) {
  std::vector<Hint> hints;
  if (facts.outcome == Outcome::kCancelled ||
      facts.outcome == Outcome::kShutdown ||
      facts.outcome == Outcome::kJailFailed ||
      facts.outcome == Outcome::kNeedsApproval ||
      facts.outcome == Outcome::kDenied) {
    return hints;
  }
  absl::string_view text(facts.stderr_tail.data(), facts.stderr_tail.size());
  if (text.size() > kHintScanBytes) {
    text.remove_prefix(text.size() - kHintScanBytes);
  }
  AddLimitHints(facts, text, hints);
  AddSurroundingsHints(facts, text, hints);
  if (facts.compiling) {
    for (Hint& hint : hints) {
      if (hint.id == "memory" || hint.id == "timeout" ||
          hint.id == "cpu-time") {
        hint.message =
            "The compiler met a limit, not the program: include less, use "
            "lighter templates and macros, or ask for more in compile_limits.";
      }
      hint.message =
          absl::StrReplaceAll(hint.message, {{"The program ", "The compiler "},
                                             {" limits.", " compile_limits."}});
    }
  }
  return hints;
}

}  // namespace sandglass::policy
