#include "sandbox/file_agent/line_search.h"

#include <re2/re2.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "policy/text/utf8.h"
#include "sandbox/os/io.h"

namespace sandglass::sandbox {
namespace {

// Of a longer line only the beginning is searched.
constexpr size_t kMaxLineBytes = 1024 * 1024;
constexpr size_t kMaxExpressionBytes = 64 * 1024;
constexpr int64_t kRegexMemory = 16 * 1024 * 1024;

}  // namespace

LinePattern::LinePattern() = default;
LinePattern::~LinePattern() = default;

FileResult LinePattern::Parse(const std::string& pattern, bool regex,
                              bool ignore_case) {
  constexpr FileResult kInvalidPattern = {FileCode::kInvalidPattern, 0};
  // A line has no line end, so that could only be a mistake.
  if (pattern.empty() || pattern.size() > kMaxExpressionBytes ||
      (!regex && pattern.find('\n') != std::string::npos)) {
    return kInvalidPattern;
  }
  if (!regex && !ignore_case) {
    literal_ = pattern;
    return {};
  }
  RE2::Options options;
  options.set_log_errors(false);
  options.set_literal(!regex);
  options.set_case_sensitive(!ignore_case);
  options.set_max_mem(kRegexMemory);
  regex_ = std::make_unique<RE2>(pattern, options);
  return regex_->ok() ? FileResult{} : kInvalidPattern;
}

bool LinePattern::Find(absl::string_view line, size_t& begin,
                       size_t& length) const {
  if (regex_ == nullptr) {
    const void* found =
        ::memmem(line.data(), line.size(), literal_.data(), literal_.size());
    if (found == nullptr) return false;
    begin = static_cast<size_t>(static_cast<const char*>(found) - line.data());
    length = literal_.size();
    return true;
  }
  re2::StringPiece match;
  const re2::StringPiece text(line.data(), line.size());
  if (!regex_->Match(text, 0, text.size(), RE2::UNANCHORED, &match, 1)) {
    return false;
  }
  begin = static_cast<size_t>(match.data() - line.data());
  length = match.size();
  return true;
}

bool LineReader::Fill() {
  if (ended_) return false;
  buffer_.erase(0, start_);
  start_ = 0;
  const size_t done = buffer_.size();
  buffer_.resize(done + os::kFileChunkBytes);
  ssize_t got;
  do {
    got = ::read(file_.get(), buffer_.data() + done, os::kFileChunkBytes);
  } while (got < 0 && errno == EINTR);
  buffer_.resize(done + static_cast<size_t>(got < 0 ? 0 : got));
  ended_ = got <= 0;
  return !ended_;
}

bool LineReader::IsBinary() {
  constexpr size_t kLookedAt = 8 * 1024;
  Fill();
  const size_t size = std::min(buffer_.size(), kLookedAt);
  return std::memchr(buffer_.data(), 0, size) != nullptr;
}

bool LineReader::Next(absl::string_view& line, bool& cut) {
  size_t looked = 0;
  while (true) {
    const absl::string_view rest(buffer_.data() + start_,
                                 buffer_.size() - start_);
    const size_t end = rest.find('\n', looked);
    const bool last = end == absl::string_view::npos;
    if (skipping_) {
      start_ += last ? rest.size() : end + 1;
      skipping_ = last;
      if (last && !Fill()) return false;
      continue;
    }
    if (!last || rest.size() >= kMaxLineBytes || ended_) {
      if (last && rest.empty()) return false;
      const size_t size = last ? rest.size() : end;
      cut = size > kMaxLineBytes || (last && !ended_);
      line = rest.substr(0, std::min(size, kMaxLineBytes));
      start_ += last ? size : size + 1;
      skipping_ = last && !ended_;
      return true;
    }
    looked = rest.size();
    Fill();
  }
}

absl::string_view CutLine(absl::string_view line, size_t begin, size_t length,
                          size_t max) {
  if (line.size() <= max) return line;
  // A quarter of the rest goes before the match, if there is enough text after
  // it.
  const size_t spare = max > length ? max - length : 0;
  size_t start = begin > spare / 4 ? begin - spare / 4 : 0;
  start = std::min(start, line.size() - max);
  size_t end = start + max;
  while (start < end && policy::IsUtf8Continuation(line[start])) ++start;
  while (end > start && end < line.size() &&
         policy::IsUtf8Continuation(line[end]))
    --end;
  return line.substr(start, end - start);
}

}  // namespace sandglass::sandbox
