#include "policy/libraries/library_words.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "policy/text/utf8.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

constexpr size_t kLongestLine = 400;
constexpr absl::string_view kCut = "...";

// Beginnings of lines, after any white space; a line belongs to the first list
// that contains its beginning.
struct ToolWords {
  std::vector<absl::string_view> noise;
  std::vector<absl::string_view> progress;
  std::vector<absl::string_view> why;
};

const ToolWords& WordsOf(Ecosystem ecosystem) {
  static const auto* const kPython = new ToolWords{
      .noise = {"Looking in ", "WARNING:", "[notice]", "note: This ",
                "hint: See above",
                "ERROR: ResolutionImpossible: for help visit"},
      .progress = {"Collecting ", "Downloading ", "Using cached ",
                   "Building wheel", "Preparing metadata ",
                   "Getting requirements to build wheel", "Created wheel for ",
                   "Installing build dependencies", "Processing ",
                   "Installing collected packages:", "Successfully "},
      .why = {"ERROR:", "error:", "The user requested ",
              "The conflict is caused by:"}};
  static const auto* const kNode = new ToolWords{
      .noise = {"npm warn", "npm WARN", "npm notice",
                "npm error A complete log", "npm ERR! A complete log",
                "npm error 404 Note that you can", "npm ERR! 404 Note that",
                "npm error 404 tarball, folder", "npm ERR! 404 tarball,",
                "npm error For a full report see:", "npm error /"},
      .progress = {"npm http fetch ", "npm http cache ", "added ", "changed ",
                   "up to date"},
      .why = {"npm error ", "npm ERR! "}};
  static const auto* const kGo = new ToolWords{
      .noise = {"go: warning:"},
      .progress = {"go: downloading ", "go: added ", "go: upgraded ",
                   "go: downgraded ", "go: finding ", "go: extracting "},
      .why = {"go: ", "server response:", "verifying ", "SECURITY ERROR"}};
  static const auto* const kRuby = new ToolWords{
      .noise = {"WARNING:", "Results logged to", "Gem files will remain "},
      .progress = {"Fetching ", "Fetching: ", "Installing ",
                   "Successfully installed ", "Building native extensions"},
      .why = {"ERROR:", "Unable to download data "}};
  static const auto* const kJava = new ToolWords{
      .noise = {"::", "====", "-- artifact", "----", "..", "|",
                "confs: ", "Picked up "},
      .progress = {"found ", "downloading ", "[SUCCESSFUL ]"},
      .why = {"module not found:", "Server access error ", "[FAILED "}};
  switch (ecosystem) {
    case Ecosystem::kPython:
      return *kPython;
    case Ecosystem::kNode:
      return *kNode;
    case Ecosystem::kGo:
      return *kGo;
    case Ecosystem::kRuby:
      return *kRuby;
    case Ecosystem::kJava:
      break;
  }
  return *kJava;
}

enum class LineKind { kNoise, kProgress, kWhy, kOther };

bool BeginsLikeOne(absl::string_view line,
                   const std::vector<absl::string_view>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](absl::string_view beginning) {
                       return absl::StartsWith(line, beginning);
                     });
}

LineKind KindOf(Ecosystem ecosystem, absl::string_view line) {
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(line);
  const ToolWords& words = WordsOf(ecosystem);
  if (BeginsLikeOne(text, words.noise)) return LineKind::kNoise;
  if (BeginsLikeOne(text, words.progress)) return LineKind::kProgress;
  if (BeginsLikeOne(text, words.why)) return LineKind::kWhy;
  // Even empty lines of npm have this beginning.
  if (text == "npm error" || text == "npm ERR!") return LineKind::kNoise;
  return LineKind::kOther;
}

// The size of the colour sequence that begins at `at`: "\x1b[" up to its
// letter.
size_t ColourSize(absl::string_view text, size_t at) {
  if (at + 1 >= text.size() || text[at + 1] != '[') return 1;
  for (size_t end = at + 2; end < text.size(); ++end) {
    if (text[end] >= '@' && text[end] <= '~') return end + 1 - at;
  }
  return text.size() - at;
}

void RemoveCredentials(std::string& text) {
  for (size_t at = text.find("://"); at != std::string::npos;
       at = text.find("://", at)) {
    at += 3;
    const size_t end =
        std::min(text.find_first_of("/?# \t\"'<>", at), text.size());
    const size_t user = text.substr(0, end).rfind('@');
    if (user != std::string::npos && user >= at) {
      text.erase(at, user + 1 - at);
    }
  }
}

// Collects lines as long as they all fit, and counts their size.
class Words {
 public:
  // Returns false when the line doesn't fit.
  bool Add(std::string line, size_t bound) {
    if (!seen_.insert(line).second) return true;
    if (size_ + line.size() + 1 > bound) return false;
    size_ += line.size() + 1;
    lines_.push_back(std::move(line));
    return true;
  }
  std::vector<std::string>& lines() { return lines_; }
  size_t size() const { return size_; }

 private:
  std::set<std::string> seen_;
  std::vector<std::string> lines_;
  size_t size_ = 0;
};

}  // namespace

std::string CleanInstallerLine(std::string_view line) {
  const absl::string_view text(line.data(), line.size());
  std::string clean;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '\x1b') {
      i += ColourSize(text, i);
      continue;
    }
    const char c = text[i] == '\t' ? ' ' : text[i];
    // Of a character in UTF-8 its first byte stands for all.
    if (c != '\r' && !IsUtf8Continuation(c)) {
      clean += c >= ' ' && c <= '~' ? c : '?';
    }
    ++i;
  }
  // Before cutting: half of a password must not be shown either.
  RemoveCredentials(clean);
  absl::StripTrailingAsciiWhitespace(&clean);
  if (clean.size() > kLongestLine) {
    clean.resize(kLongestLine - kCut.size());
    absl::StrAppend(&clean, kCut);
  }
  return clean;
}

bool IsLibraryProgress(Ecosystem ecosystem, std::string_view line) {
  return KindOf(ecosystem, CleanInstallerLine(line)) == LineKind::kProgress;
}

std::string LibraryFailureWords(Ecosystem ecosystem, int exit_code,
                                std::string_view output) {
  Words why;
  std::vector<std::string> others;
  for (const absl::string_view raw : absl::StrSplit(AbslView(output), '\n')) {
    std::string line = CleanInstallerLine(StdView(raw));
    const LineKind kind = KindOf(ecosystem, line);
    if (kind == LineKind::kWhy) {
      why.Add(std::move(line), kMaxFailureWords);
    } else if (kind == LineKind::kOther &&
               line.find_first_not_of(' ') != std::string::npos) {
      others.push_back(std::move(line));
    }
  }
  Words last;
  for (auto line = others.rbegin(); line != others.rend(); ++line) {
    if (!last.Add(std::move(*line), kMaxFailureWords - why.size())) break;
  }
  std::vector<std::string> lines = std::move(why.lines());
  lines.insert(lines.end(), last.lines().rbegin(), last.lines().rend());
  if (lines.empty()) {
    return absl::StrCat("the installer ended with status ", exit_code,
                        " and did not say why");
  }
  return absl::StrJoin(lines, "\n");
}

}  // namespace sandglass::policy
