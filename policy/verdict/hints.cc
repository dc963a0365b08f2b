#include "policy/verdict/hints.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "policy/text/views.h"
#include "policy/verdict/hint_signs.h"
#include "policy/verdict/unseen.h"

namespace sandglass::policy {
namespace {

std::string_view Tail(std::string_view text) {
  return text.size() > kHintScanBytes
             ? text.substr(text.size() - kHintScanBytes)
             : text;
}

bool Met(const HintFacts& facts, LimitKind kind) {
  return std::find(facts.limits.begin(), facts.limits.end(), kind) !=
         facts.limits.end();
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

// For "main.sh: line 3: jq: command not found", or "sh: 1: jq: not found" as
// dash has it: "jq".
absl::string_view MissingCommand(absl::string_view text) {
  size_t at = text.rfind(": command not found");
  if (at == absl::string_view::npos &&
      (absl::StartsWith(text, "sh: ") || absl::StrContains(text, "\nsh: "))) {
    at = text.rfind(": not found");
  }
  if (at == absl::string_view::npos) return {};
  const absl::string_view before = text.substr(0, at);
  const size_t space = before.find_last_of(" \n");
  const absl::string_view word =
      space == absl::string_view::npos ? before : before.substr(space + 1);
  return LeadingName(word) == word ? word : absl::string_view();
}

void Add(std::vector<Hint>& hints, absl::string_view id,
         absl::string_view message) {
  hints.push_back({std::string(id), std::string(message)});
}

// What the program wrote, in lower case.
struct Said {
  std::string err;
  std::string all;
};

void AddResourceHints(const HintFacts& facts, const Said& said,
                      std::vector<Hint>& hints) {
  const Outcome outcome = facts.outcome;
  const bool processes = outcome == Outcome::kPidsLimit ||
                         Met(facts, LimitKind::kProcesses) ||
                         Says(Sign::kProcesses, said.err);
  // A program that went on had memory enough: what it met was room for copies
  // of files. Java speaks of memory where it lacks threads.
  if ((outcome == Outcome::kMemoryLimit && !facts.uncharged) ||
      (outcome != Outcome::kOk && !processes &&
       (Met(facts, LimitKind::kMemory) || Says(Sign::kMemory, said.err)))) {
    Add(hints, "memory",
        "The program needs more memory than limits.memory_bytes; work on "
        "the data in pieces. What it keeps in /tmp and /workspace counts "
        "as well.");
  }
  // A loop that starts processes waits for room when it gets no more.
  if (outcome == Outcome::kTimeout && !processes) {
    Add(hints, "timeout",
        "The program was still running at limits.wall_time; look for a "
        "loop without end, a sleep, or a wait for something that never "
        "comes.");
    if (Met(facts, LimitKind::kCpuShare)) {
      Add(hints, "cpu-share",
          "The program was held back by limits.cpu_millis; more threads than "
          "processors don't make it faster.");
    }
  }
  if (outcome == Outcome::kCpuLimit) {
    Add(hints, "cpu-time",
        "The program used up limits.cpu_time; all its processes and "
        "threads count together.");
  }
  if (processes) {
    Add(hints, "pids",
        "The program asked for more processes and threads at once than "
        "limits.max_processes; wait for some to end or start fewer.");
  }
}

void AddOutputHints(const HintFacts& facts, std::vector<Hint>& hints) {
  if (facts.outcome == Outcome::kOutputLimit) {
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
}

void AddFileHints(const HintFacts& facts, const Said& said,
                  std::vector<Hint>& hints) {
  if (facts.outcome == Outcome::kDiskLimit ||
      Met(facts, LimitKind::kTmpBytes) ||
      Met(facts, LimitKind::kWorkspaceBytes) ||
      Met(facts, LimitKind::kFileCount) || Says(Sign::kDiskFull, said.all)) {
    Add(hints, "disk-full",
        "/tmp or /workspace has no room left; see limits.tmp_bytes, "
        "limits.workspace_bytes and limits.max_files.");
  }
  if (facts.outcome == Outcome::kFileSizeLimit ||
      Met(facts, LimitKind::kFileSize) || Says(Sign::kFileSize, said.all)) {
    Add(hints, "file-size",
        "The program wrote a file past limits.file_size_bytes; split "
        "it.");
  }
  if (Says(Sign::kOpenFiles, said.all)) {
    Add(hints, "open-files",
        "The program has more files open than limits.open_files; close "
        "those that it no longer needs.");
  }
}

void AddPackagesHint(const HintFacts& facts, std::vector<Hint>& hints) {
  constexpr absl::string_view kSo =
      "Packages can't be downloaded, since the network is off in this "
      "profile: ";
  constexpr absl::string_view kAsk =
      "name them as \"libraries\" (--library NAME)";
  switch (facts.libraries) {
    case LibraryOffer::kToIt:
      return Add(hints, "packages",
                 absl::StrCat(kSo, kAsk,
                              " in the request for the run, or when the "
                              "session is created."));
    case LibraryOffer::kToOthers:
      return Add(hints, "packages",
                 absl::StrCat(kSo, kAsk,
                              " in the request for a run, or a session, in "
                              "their own language."));
    case LibraryOffer::kNothing:
      return Add(hints, "packages",
                 absl::StrCat(kSo,
                              "use what is installed, or a profile with "
                              "\"libraries\" or a network."));
  }
}

void AddSurroundingsHints(const HintFacts& facts, const Said& said,
                          std::vector<Hint>& hints) {
  if (!facts.has_network && Says(Sign::kNetwork, said.all)) {
    Add(hints, "network-off",
        "The network is off in this profile; give the program its data "
        "with the request, or use a profile that lets it reach what it "
        "needs.");
  }
  if (SaysReadOnly(said.all)) {
    Add(hints, "read-only-root",
        "The program can write below /workspace, /tmp and /home/sandbox; all "
        "else is read-only.");
  }
  const absl::string_view text = AbslView(facts.stderr_tail);
  const auto [kind, name] = MissingLibrary(text);
  const absl::string_view command = MissingCommand(text);
  if (!facts.has_network &&
      (Says(Sign::kPackages, said.all) || InstallsPackages(command))) {
    AddPackagesHint(facts, hints);
  }
  if (!name.empty()) {
    Add(hints, "missing-module",
        absl::StrCat("The ", kind, " \"", name,
                     "\" is not installed in the sandbox and can't be "
                     "installed by the program."));
  }
  if (!command.empty()) {
    Add(hints, "missing-command",
        absl::StrCat("The command \"", command,
                     "\" is not installed in the sandbox and can't be "
                     "installed by the program."));
  }
  if (Says(Sign::kTerminal, said.all)) {
    Add(hints, "no-terminal",
        "Programs can't open terminals of their own (pty, as script, pexpect "
        "and tmux do); use pipes, or start the command itself on a terminal, "
        "as a session's commands can be.");
  }
  if (Says(Sign::kFileWatch, said.all)) {
    Add(hints, "no-file-watch",
        "Files can't be watched in the sandbox (inotify, fs.watch); look at "
        "them from time to time, as fs.watchFile and a watcher's polling mode "
        "do.");
  }
  const bool wants_input =
      facts.outcome != Outcome::kOk && Says(Sign::kInput, said.all);
  if (wants_input && facts.stdin_given) {
    Add(hints, "stdin-ended",
        "The program asked for more input than the request's stdin "
        "had.");
  } else if (wants_input || (!facts.stdin_given && AsksInVain(facts))) {
    Add(hints, "stdin-empty",
        "The program reads standard input and the request gave none; "
        "nobody can type while it runs.");
  }
}

}  // namespace

void TakeVerdict(const Verdict& verdict, HintFacts& facts) {
  facts.outcome = verdict.outcome;
  facts.uncharged = verdict.rule == "netlink-memory" ||
                    verdict.rule == "tcp-backlog" ||
                    verdict.rule == "record-locks";
  if (verdict.limit) facts.limits.push_back(verdict.limit->kind);
  for (const LimitReading& reading : verdict.limits_touched) {
    facts.limits.push_back(reading.kind);
  }
}

std::vector<Hint> MakeHints(const HintFacts& whole) {
  std::vector<Hint> hints;
  if (whole.outcome == Outcome::kCancelled ||
      whole.outcome == Outcome::kShutdown ||
      whole.outcome == Outcome::kJailFailed ||
      whole.outcome == Outcome::kNeedsApproval ||
      whole.outcome == Outcome::kDenied) {
    return hints;
  }
  HintFacts facts = whole;
  facts.stderr_tail = Tail(whole.stderr_tail);
  facts.stdout_tail = Tail(whole.stdout_tail);
  Said said;
  said.err = absl::AsciiStrToLower(AbslView(facts.stderr_tail));
  said.all = absl::StrCat(said.err, "\n",
                          absl::AsciiStrToLower(AbslView(facts.stdout_tail)));
  AddResourceHints(facts, said, hints);
  AddOutputHints(facts, hints);
  AddFileHints(facts, said, hints);
  AddSurroundingsHints(facts, said, hints);
  if (facts.outcome == Outcome::kOk && !facts.source.empty()) {
    for (Hint& hint : FindUnseen(facts)) hints.push_back(std::move(hint));
  }
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
